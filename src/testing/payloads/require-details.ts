import { configInvalid } from '../../errors.ts'
import { requireAddress, requireCounts, requireOneOf, requireText, requireTime } from '../check.ts'
import type { PayloadDetails } from './details.ts'

const TEXTS = [
  ...(['serviceName', 'name', 'id', 'url', 'jobId', 'taskName', 'orgId'] as const),
  ...(['username', 'userId', 'source', 'itemId'] as const),
]

/**
 * Checks every detail that is given, also those that the dialect does not send: a wrong one is a mistake in any.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireDetails(details: PayloadDetails): void {
  const {
    dialect,
    serviceType,
    folderName,
    orgId,
    when,
    changesUrl,
    serverGens,
    serverUrl,
    layerIds,
    portalUrl,
  } = details
  if (dialect !== undefined) requireOneOf('dialect', dialect, ['service', 'hosted', 'organization'])
  if (serviceType !== undefined) requireOneOf('serviceType', serviceType, ['FeatureServer', 'GPServer'])
  if (changesUrl !== undefined) requireOneOf('changesUrl', changesUrl, ['partial', 'whole', 'none'])
  for (const option of TEXTS) {
    if (details[option] !== undefined) requireText(option, details[option])
  }
  // Not among the texts: empty is the root folder.
  if (folderName !== undefined && folderName !== '') requireText('folderName', folderName)
  // It becomes a part of a path.
  if (orgId !== undefined && /[\s/?#]/.test(orgId)) throw configInvalid('orgId is no id')
  if (when !== undefined) requireTime('when', when)
  if (serverUrl !== undefined) requireAddress('serverUrl', serverUrl)
  if (portalUrl !== undefined) requireAddress('portalUrl', portalUrl)
  if (serverGens !== undefined) requireServerGens(serverGens)
  if (layerIds !== undefined && new Set(requireCounts('layerIds', layerIds)).size < layerIds.length)
    throw configInvalid('layerIds has a layer twice')
}

function requireServerGens(serverGens: unknown): void {
  const [first = 0, last = 0, ...more] = requireCounts('serverGens', serverGens)
  if ((serverGens as unknown[]).length < 2 || more.length > 0)
    throw configInvalid('serverGens must be two numbers, the first and the last generation')
  if (first > last) throw configInvalid('serverGens ends before it begins')
}
