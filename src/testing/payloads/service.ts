import type { PayloadDetails } from './details.ts'
import { isJob, type TimedEvent } from './events.ts'
import { changesUrl, serviceUrl } from './urls.ts'

/**
 * Writes the service dialect: an object in which `events` is an array of `{eventType, when}` (docs/senders.md,
 * "Payloads"). A job result has the members of a job in place of `changesUrl` and `id`.
 */
export function writeService(
  events: readonly TimedEvent[],
  details: PayloadDetails,
): Record<string, unknown> {
  const entries = events.map(({ changeType, when }) => ({ eventType: changeType, when }))
  return isJob(events, details.serviceType) ? writeJob(entries, details) : writeFeatures(entries, details)
}

const SERVER_URL = 'https://server.example/server/rest'

function writeFeatures(events: readonly object[], details: PayloadDetails): Record<string, unknown> {
  const { serverUrl = SERVER_URL, serverGens = [1, 2], serviceName = 'Parcels' } = details
  const service = serviceUrl(serverUrl, details.folderName, serviceName, 'FeatureServer')
  return {
    serviceType: 'FeatureServer',
    changesUrl: details.url ?? changesUrl(service, serverGens, details.changesUrl ?? 'partial'),
    name: details.name ?? 'webhook',
    id: details.id ?? '00000000-0000-4000-8000-000000000000',
    folderName: details.folderName ?? '',
    serviceName,
    events,
  }
}

function writeJob(events: readonly object[], details: PayloadDetails): Record<string, unknown> {
  const { serverUrl = SERVER_URL, serviceName = 'Analysis', taskName = 'Task', jobId = 'j0' } = details
  const service = serviceUrl(serverUrl, details.folderName, serviceName, 'GPServer')
  return {
    serviceType: 'GPServer',
    jobId,
    statusURL: details.url ?? `${service}/${taskName}/jobs/${jobId}`,
    name: details.name ?? 'webhook',
    taskName,
    folderName: details.folderName ?? '',
    serviceName,
    events,
  }
}
