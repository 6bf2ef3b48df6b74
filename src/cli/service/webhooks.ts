import { InvalidArgumentError } from 'commander'
import { HIDDEN, isSecretMember } from '../../shared/redact.ts'
import { failure, usageError } from '../errors.ts'
import { toRecord } from '../io/files.ts'
import type { CliCommand } from '../options/command.ts'
import { addNewKeyOptions, hasKeyOption, type KeyOptions, requireKey } from '../options/secrets.ts'
import type { Io } from '../terminal/io.ts'
import { printable } from '../terminal/printable.ts'
import { notAService, type ServiceClient, type ServiceResponse } from './client.ts'

/** A service, written as `[folder/]<name>.<type>` on the command line. */
export interface ServicePath {
  folderName: string
  serviceName: string
  serviceType: 'FeatureServer' | 'GPServer'
}

/** Parses a service path. */
export function servicePath(value: string): ServicePath {
  const [, folderName = '', serviceName = '', type] =
    /^(?:([^/]+)\/)?([^/]+)\.(FeatureServer|GPServer)$/.exec(value) ?? []
  if (!type) {
    throw new InvalidArgumentError('must be written like Parcels.FeatureServer or folder/Analysis.GPServer')
  }
  return { folderName, serviceName, serviceType: type as ServicePath['serviceType'] }
}

/** Returns the URL path of a service's webhooks (docs/specification.md, "Endpoints"). */
export function webhooksPath({ folderName, serviceName, serviceType }: ServicePath): string {
  const folder = folderName ? `${encodeURIComponent(folderName)}/` : ''
  return `/services/${folder}${encodeURIComponent(serviceName)}.${serviceType}/webhooks`
}

/** A webhook in a service's list. The members below are validated; all others are passed through. */
export interface ListedWebhook extends ServiceResponse {
  id: string
  name: string
  hookUrl: string
  changeTypes: string[]
}

/** Lists the webhooks of one service, or of all services. */
export async function listWebhooks(
  io: Io,
  client: ServiceClient,
  service?: ServicePath,
): Promise<ListedWebhook[]> {
  const { webhooks } = await client.get(service ? webhooksPath(service) : '/services/webhooks')
  if (!Array.isArray(webhooks)) throw notAService('the response has no webhooks')
  return webhooks.flatMap((webhook) => parseWebhook(io, webhook) ?? [])
}

function parseWebhook(io: Io, value: unknown): ListedWebhook | undefined {
  const webhook = toRecord(value)
  if (typeof webhook?.id !== 'string') return undefined
  const { id, name, hookUrl, changeTypes, signatureKey } = webhook
  if (!isHiddenKey(signatureKey)) io.keepSecret(String(signatureKey))
  return {
    ...webhook,
    id,
    name: typeof name === 'string' ? name : '',
    hookUrl: typeof hookUrl === 'string' ? hookUrl : '',
    changeTypes: Array.isArray(changeTypes) ? changeTypes.filter((type) => typeof type === 'string') : [],
  }
}

/** Finds a webhook by its id or, if no id matches, by its name. @throws {CliError} exit code 1 */
export function findWebhook(webhooks: readonly ListedWebhook[], idOrName: string): ListedWebhook {
  const named = webhooks.filter(({ name }) => name === idOrName)
  const found = webhooks.find(({ id }) => id === idOrName) ?? named[0]
  if (found && (found.id === idOrName || named.length === 1)) return found
  if (found) {
    const ids = named.map(({ id }) => id).join(', ')
    throw failure('ambiguous', `${named.length} webhooks are named ${idOrName}`, `Give an id: ${ids}.`)
  }
  const message = `webhook ${idOrName} not found`
  throw failure('not_found', message, '"geohook list" shows the webhooks.')
}

/** Replaces keys and other secrets at any depth of a response with `***`. */
export const redactKeys = (response: ServiceResponse): ServiceResponse =>
  JSON.parse(JSON.stringify(response, (name, value) => (isSecretMember(name) && value ? HIDDEN : value)))

/** Masks in place of a value, such as `****1f2e`, `s3c…1f2e`, `<hidden>` or `xxxxxxxx`. */
const MASK = /^[^\p{L}\p{N}]+$|\*{3}|[•●]{2}|…|\.{3}|^<.*>$|^\[.*\]$|^(.)\1{3,}$/u
const MASK_WORD = /^(?:hidden|masked|redacted|removed|protected|confidential|secret|null|none|undefined)$/i

/**
 * Returns true if a service does not show a webhook's key: the member is missing, or is a mask. An empty key counts as
 * shown, because it means that the webhook has no key.
 */
export const isHiddenKey = (key: unknown): boolean =>
  typeof key !== 'string' || MASK.test(key) || MASK_WORD.test(key)

/** Describes the key of a response without showing it. */
export const describeKey = (key: unknown, set: string): string =>
  key === '' ? 'none' : isHiddenKey(key) ? 'not shown' : set

/** Formats one member of a response as printable text. */
export function toPrintable(value: unknown): string {
  if (Array.isArray(value)) return value.map(toPrintable).join(',')
  return printable(typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? ''))
}

export const WEBHOOK_COLUMNS = ['service', 'id', 'name', 'change types', 'active', 'key', 'hookUrl'] as const

/** Formats a webhook as a table row of WEBHOOK_COLUMNS. The key is redacted. */
export function toWebhookRow({ folderName, serviceName, serviceType, ...webhook }: ListedWebhook): string[] {
  const { id, name, changeTypes, active, signatureKey, hookUrl } = webhook
  const service = `${folderName ? `${folderName}/` : ''}${serviceName}.${serviceType}`
  const isActive = typeof active === 'boolean' ? (active ? 'yes' : 'no') : 'not shown'
  const key = describeKey(signatureKey, HIDDEN)
  return [service, id, name, changeTypes.join(','), isActive, key, hookUrl].map(toPrintable)
}

/** Values of the options of `create` and `edit` that set members of a webhook. */
export interface WebhookOptions extends KeyOptions {
  name?: string
  hookUrl?: URL
  changeTypes?: string[]
  active?: 'true' | 'false'
  contentType?: string
  payloadFormat?: string
  schedule?: string
}

/** Adds all options that `create` and `edit` describe alike. */
export function addWebhookOptions(command: CliCommand): void {
  command
    .choice('--active <boolean>', 'whether events trigger it', ['true', 'false'])
    .choice('--content-type <type>', 'content type of its deliveries', [
      'application/json',
      'application/x-www-form-urlencoded',
    ])
    .choice('--payload-format <name>', 'format of its payloads; pjson is indented JSON', ['json', 'pjson'])
    .option('--schedule <json>', 'scheduleInfo as a JSON object, or some of its members')
    .with(addNewKeyOptions)
}

/** Converts the given options to the form parameters of a service. @throws {CliError} exit code 2 if one is invalid */
export async function readWebhookOptions(io: Io, options: WebhookOptions): Promise<Record<string, string>> {
  const { name, hookUrl, changeTypes, active, contentType, payloadFormat, schedule } = options
  if (schedule !== undefined) requireJsonObject(schedule)
  const signatureKey = hasKeyOption(options) ? await requireKey(io, options) : undefined
  const parameters = {
    name,
    hookUrl: hookUrl?.href,
    changeTypes: changeTypes && JSON.stringify(changeTypes.flatMap((names) => names.split(','))),
    active,
    contentType,
    payloadFormat,
    scheduleInfo: schedule,
    signatureKey,
  }
  return Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

function requireJsonObject(json: string): void {
  try {
    if (toRecord(JSON.parse(json))) return
  } catch {}
  throw usageError(
    '--schedule must be a JSON object',
    `For example '{"recurrenceInfo":{"interval":30,"frequency":"second"}}'.`,
  )
}
