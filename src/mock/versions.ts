import { FEATURE_CHANGE_TYPES, POST_PERFORMED } from '../payload/change-types.ts'

/** A version of the service (specification, "Versioning"). */
export type ServiceVersion = '11.1' | '11.2' | '11.3'

/** What came with a later version than edit and delete did. */
type Capability = 'signature' | 'failures' | 'post'

export const VERSIONS: readonly ServiceVersion[] = ['11.1', '11.2', '11.3']

const SINCE: Record<Capability, ServiceVersion> = {
  signature: '11.2',
  // Counting failures, and with it retries, switching off, settings and the list of the whole site (field facts).
  failures: '11.2',
  post: '11.3',
}

/** Whether a version is this one or a later one. */
export const reaches = (version: ServiceVersion, since: ServiceVersion): boolean =>
  VERSIONS.indexOf(version) >= VERSIONS.indexOf(since)

/** Whether a service of this version has it. */
export const has = (version: ServiceVersion, capability: Capability): boolean =>
  reaches(version, SINCE[capability])

/** The triggers of a feature service of this version. */
export const triggersOf = (version: ServiceVersion): readonly string[] =>
  FEATURE_CHANGE_TYPES.filter((name) => name !== POST_PERFORMED || has(version, 'post'))
