import { configInvalid } from '../../errors.ts'
import type { PayloadDetails } from './details.ts'
import { isJob, newest, type TimedEvent, uniqueNames } from './events.ts'
import { changesUrl, serviceUrl } from './urls.ts'

/**
 * The hosted dialect: an array with one item for each layer, `events` an array of names (field facts, "Payloads").
 * The events have no times of their own; `lastUpdatedTime` is the newest.
 *
 * @throws {WebhookError} `config_invalid` for the end of a job: only feature services are hosted
 */
export function writeHosted(
  events: readonly TimedEvent[],
  details: PayloadDetails,
): Record<string, unknown>[] {
  if (isJob(events, details.serviceType))
    throw configInvalid(
      'the hosted dialect has no geoprocessing jobs',
      "Jobs are sent in the dialect 'service'.",
    )
  const { name = 'webhook', orgId = 'myorgId', serviceName = 'Parcels', layerIds = [0] } = details
  const { serverUrl = `https://olserver.example/${orgId}/rest`, serverGens = [1, 2] } = details
  const service = serviceUrl(serverUrl, details.folderName, serviceName, 'FeatureServer')
  const url = details.url ?? changesUrl(service, serverGens, details.changesUrl ?? 'whole', '&async=true')
  return layerIds.map((layerId) => ({
    name,
    layerId,
    orgId,
    serviceName,
    lastUpdatedTime: newest(events),
    changesUrl: url,
    events: uniqueNames(events),
  }))
}
