import { configInvalid } from '../../errors.ts'
import { requireAddress, requireCounts, requireOneOf, requireText, requireTime } from '../checks.ts'
import type { PayloadDetails } from './details.ts'

const DIALECTS = ['service', 'hosted', 'organization'] as const
const SERVICE_TYPES = ['FeatureServer', 'GPServer'] as const
const CHANGES_URLS = ['partial', 'whole', 'none'] as const
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
  if (dialect !== undefined) requireOneOf('dialect', dialect, DIALECTS)
  if (serviceType !== undefined) requireOneOf('serviceType', serviceType, SERVICE_TYPES)
  if (changesUrl !== undefined) requireOneOf('changesUrl', changesUrl, CHANGES_URLS)
  // One by one: a loop over their names takes several times as long, and the mock writes thousands a second.
  requireIfGiven('serviceName', details.serviceName)
  requireIfGiven('name', details.name)
  requireIfGiven('id', details.id)
  requireIfGiven('url', details.url)
  requireIfGiven('jobId', details.jobId)
  requireIfGiven('taskName', details.taskName)
  requireIfGiven('orgId', orgId)
  requireIfGiven('username', details.username)
  requireIfGiven('userId', details.userId)
  requireIfGiven('source', details.source)
  requireIfGiven('itemId', details.itemId)
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

function requireIfGiven(option: keyof PayloadDetails, text: unknown): void {
  if (text !== undefined) requireText(option, text)
}

function requireServerGens(serverGens: unknown): void {
  const { length, 0: first = 0, 1: last = 0 } = requireCounts('serverGens', serverGens)
  if (length !== 2) throw configInvalid('serverGens must be two numbers, the first and the last generation')
  if (first > last) throw configInvalid('serverGens ends before it begins')
}
