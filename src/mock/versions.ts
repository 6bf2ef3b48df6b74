import { FEATURE_CHANGE_TYPES, POST_PERFORMED } from '../payload/events.ts'

/** A version of the service (docs/specification.md, "Versions"). */
export type ServiceVersion = '11.1' | '11.2' | '11.3'

/** A capability that some versions lack. `failures` covers retries, deactivation, settings and the site list. */
type Capability = 'signature' | 'failures' | 'post'

export const VERSIONS: readonly ServiceVersion[] = ['11.1', '11.2', '11.3']

/** The first version that has each capability (docs/senders.md, "Administration" and "Delivery"). */
const SINCE: Record<Capability, ServiceVersion> = {
  signature: '11.2',
  failures: '11.2',
  post: '11.3',
}

/** True if `version` is `since` or later. */
export const isAtLeast = (version: ServiceVersion, since: ServiceVersion): boolean =>
  VERSIONS.indexOf(version) >= VERSIONS.indexOf(since)

export const has = (version: ServiceVersion, capability: Capability): boolean =>
  isAtLeast(version, SINCE[capability])

/** Change types that webhooks of a feature service can subscribe to. */
export const featureChangeTypesOf = (version: ServiceVersion): readonly string[] =>
  FEATURE_CHANGE_TYPES.filter((name) => name !== POST_PERFORMED || has(version, 'post'))
