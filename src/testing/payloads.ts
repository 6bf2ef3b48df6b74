import type { ChangeType } from '../payload/change-types.ts'

/** What {@link createPayload} takes beside the change types. */
export interface PayloadDetails {
  /** Default `'Parcels'`, or `'Analysis'` for a geoprocessing service. */
  serviceName?: string | undefined
  /** Default `'FeatureServer'`, or `'GPServer'` for the end of a job. */
  serviceType?: 'FeatureServer' | 'GPServer' | undefined
  /** Default `''`, the root folder. */
  folderName?: string | undefined
  /** The webhook's name. Default `'webhook'`. */
  name?: string | undefined
  /** The webhook's id; only feature services send it. */
  id?: string | undefined
  /** Milliseconds since 1970. Default: now. */
  when?: number | undefined
  /** Where the changes, or the state of the job, can be read. */
  url?: string | undefined
  /** Geoprocessing only. */
  jobId?: string | undefined
  /** Geoprocessing only. */
  taskName?: string | undefined
}

/**
 * A payload in the specification's dialect, with one event for each change type (field facts, "Payloads").
 *
 * @example
 * ```ts
 * import { createPayload } from 'geohook/testing'
 *
 * createPayload('FeaturesCreated', { serviceName: 'Parcels' })
 * createPayload('esriJobSucceeded', { serviceName: 'Analysis', jobId: 'j1' })
 * ```
 */
export function createPayload(
  changeTypes: ChangeType | readonly ChangeType[],
  details: PayloadDetails = {},
): Record<string, unknown> {
  const names = typeof changeTypes === 'string' ? [changeTypes] : changeTypes
  const isJob = details.serviceType
    ? details.serviceType === 'GPServer'
    : names.some((name) => /^esriJob/.test(name))
  const { folderName = '', name = 'webhook', when = Date.now() } = details
  const events = names.map((eventType) => ({ eventType, when }))
  return isJob
    ? job({ ...details, folderName, name }, events)
    : features({ ...details, folderName, name }, events)
}

function features(
  { name, folderName, ...details }: PayloadDetails,
  events: object[],
): Record<string, unknown> {
  const serviceName = details.serviceName ?? 'Parcels'
  const path = [folderName, serviceName].filter((part) => part !== '').join('/')
  return {
    serviceType: 'FeatureServer',
    changesUrl:
      details.url ??
      `https://server.example/server/rest/services/${path}/FeatureServer/extractChanges?serverGens=%5B1,2%5D`,
    name,
    id: details.id ?? '00000000-0000-4000-8000-000000000000',
    folderName,
    serviceName,
    events,
  }
}

function job({ name, folderName, ...details }: PayloadDetails, events: object[]): Record<string, unknown> {
  const { serviceName = 'Analysis', taskName = 'Task', jobId = 'j0' } = details
  const path = [folderName, serviceName].filter((part) => part !== '').join('/')
  return {
    serviceType: 'GPServer',
    jobId,
    statusURL:
      details.url ?? `https://server.example/server/rest/services/${path}/GPServer/${taskName}/jobs/${jobId}`,
    name,
    taskName,
    folderName,
    serviceName,
    events,
  }
}
