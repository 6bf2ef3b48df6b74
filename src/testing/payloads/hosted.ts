import { configInvalid } from '../../errors.ts'
import type { PayloadDetails } from './details.ts'
import { isJob, newestTime, type TimedEvent, uniqueNames } from './events.ts'
import { changesUrl, serviceUrl } from './urls.ts'

/**
 * Writes the hosted dialect: an array with one item per layer, in which `events` is an array of names
 * (docs/senders.md, "Payloads"). Events have no times of their own; `lastUpdatedTime` is the time of the newest
 * event.
 *
 * @throws {WebhookError} `config_invalid` for a job result, because only feature services are hosted
 */
export function writeHosted(
  events: readonly TimedEvent[],
  details: PayloadDetails,
): Record<string, unknown>[] {
  if (isJob(events, details.serviceType))
    throw configInvalid('the hosted dialect has no geoprocessing jobs', "Use the dialect 'service' for jobs.")
  const { name = 'webhook', orgId = 'myorgId', serviceName = 'Parcels', layerIds = [0] } = details
  const { serverUrl = `https://olserver.example/${orgId}/rest`, serverGens = [1, 2] } = details
  const service = serviceUrl(serverUrl, details.folderName, serviceName, 'FeatureServer')
  const url = details.url ?? changesUrl(service, serverGens, details.changesUrl ?? 'whole', '&async=true')
  return layerIds.map((layerId) => ({
    name,
    layerId,
    orgId,
    serviceName,
    lastUpdatedTime: newestTime(events),
    changesUrl: url,
    events: uniqueNames(events),
  }))
}
