import { configInvalid } from '../../errors.ts'
import { type OptionNames, requireKnownOptions } from '../../options.ts'
import { requireBaseUrl, requireOneOf, requireText, requireTime, requireWholeNumbers } from '../checks.ts'
import type { PayloadDetails } from './details.ts'

const DIALECTS = ['service', 'hosted', 'organization'] as const
const SERVICE_TYPES = ['FeatureServer', 'GPServer'] as const
const CHANGES_URLS = ['partial', 'whole', 'none'] as const

const NAMES: OptionNames<PayloadDetails> = {
  dialect: true,
  serviceName: true,
  serviceType: true,
  folderName: true,
  name: true,
  id: true,
  when: true,
  url: true,
  changesUrl: true,
  serverGens: true,
  serverUrl: true,
  jobId: true,
  taskName: true,
  orgId: true,
  layerIds: true,
  portalUrl: true,
  username: true,
  userId: true,
  source: true,
  itemId: true,
}

/**
 * Checks all details, including those that the dialect does not use.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireDetails(details: PayloadDetails): void {
  requireKnownOptions(details, NAMES, 'detail')
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
  // Each detail is checked separately: a loop over the names would take several times as long, and the mock service
  // writes thousands of payloads per second.
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
  // An empty folder name means the root folder.
  if (folderName !== undefined && folderName !== '') requireText('folderName', folderName)
  // `orgId` becomes part of a URL path.
  if (orgId !== undefined && /[\s/?#]/.test(orgId))
    throw configInvalid('orgId must not contain white space, a slash, ? or #')
  if (when !== undefined) requireTime('when', when)
  if (serverUrl !== undefined) requireBaseUrl('serverUrl', serverUrl)
  if (portalUrl !== undefined) requireBaseUrl('portalUrl', portalUrl)
  if (serverGens !== undefined) requireServerGens(serverGens)
  if (layerIds !== undefined && new Set(requireWholeNumbers('layerIds', layerIds)).size < layerIds.length)
    throw configInvalid('layerIds must not contain a layer twice')
}

function requireIfGiven(option: keyof PayloadDetails, text: unknown): void {
  if (text !== undefined) requireText(option, text)
}

function requireServerGens(serverGens: unknown): void {
  const { length, 0: first = 0, 1: last = 0 } = requireWholeNumbers('serverGens', serverGens)
  if (length !== 2) throw configInvalid('serverGens must be two numbers: the first and the last generation')
  if (first > last) throw configInvalid('serverGens: the first generation must not be greater than the last')
}
