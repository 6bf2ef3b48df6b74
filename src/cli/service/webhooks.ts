import { type Command, InvalidArgumentError } from 'commander'
import { tryJson } from '../../shared/json.ts'
import { HIDDEN, isSecretMember } from '../../shared/redact.ts'
import { count } from '../../shared/words.ts'
import { CliError, failure, usageError } from '../errors.ts'
import { toRecord } from '../io/files.ts'
import { CliCommand } from '../options/command.ts'
import { addNewKeyOptions, hasKeyOption, type KeyOptions, requireKey } from '../options/secrets.ts'
import { collect, httpUrl } from '../options/values.ts'
import { type Io, printable } from '../terminal/io.ts'
import {
  addClientOptions,
  type ClientOptions,
  notAService,
  type ServiceClient,
  type ServiceResponse,
  withClient,
} from './client.ts'

/** A service, written as `[folder/]<name>.<type>` on the command line. */
export interface ServicePath {
  folderName: string
  serviceName: string
  serviceType: 'FeatureServer' | 'GPServer'
}

export function servicePath(value: string): ServicePath {
  const [, folderName = '', serviceName = '', type] =
    /^(?:([^/]+)\/)?([^/]+)\.(FeatureServer|GPServer)$/.exec(value) ?? []
  if (type) return { folderName, serviceName, serviceType: type as ServicePath['serviceType'] }
  throw new InvalidArgumentError('must be written like Parcels.FeatureServer or folder/Analysis.GPServer')
}

/** Returns the folder and the name of a service for a URL. */
export const toUrlPath = ({ folderName, serviceName }: ServicePath): string =>
  (folderName ? [folderName, serviceName] : [serviceName]).map(encodeURIComponent).join('/')

/** Returns the URL path of a service's webhooks (docs/specification.md, "Endpoints"). */
export const webhooksPath = (service: ServicePath): string =>
  `/services/${toUrlPath(service)}.${service.serviceType}/webhooks`

/** A webhook in a service's list. The members below are validated; all others are passed through. */
export interface ListedWebhook extends ServiceResponse {
  id: string
  name: string
  hookUrl: string
  changeTypes: string[]
}

export async function listWebhooks(
  io: Io,
  client: ServiceClient,
  service?: ServicePath,
): Promise<ListedWebhook[]> {
  const { webhooks } = await client.get(service ? webhooksPath(service) : '/services/webhooks')
  if (!Array.isArray(webhooks)) throw notAService('the response has no webhooks')
  return webhooks.flatMap((value) => {
    const webhook = toRecord(value)
    if (typeof webhook?.id !== 'string') return []
    const { id, name, hookUrl, changeTypes, signatureKey } = webhook
    if (!isHiddenKey(signatureKey)) io.keepSecret(String(signatureKey))
    return {
      ...webhook,
      id,
      name: typeof name === 'string' ? name : '',
      hookUrl: typeof hookUrl === 'string' ? hookUrl : '',
      changeTypes: Array.isArray(changeTypes) ? changeTypes.filter((type) => typeof type === 'string') : [],
    }
  })
}

/** Finds a webhook by its id or, if no id matches, by its name. @throws {CliError} exit code 1 */
export function findWebhook(webhooks: readonly ListedWebhook[], idOrName: string): ListedWebhook {
  const withId = webhooks.filter(({ id }) => id === idOrName)
  const [found, ...others] =
    withId.length > 0 ? withId.slice(0, 1) : webhooks.filter(({ name }) => name === idOrName)
  if (!found)
    throw failure('not_found', `webhook ${idOrName} not found`, '"geohook list" shows the webhooks.')
  if (others.length === 0) return found
  const ids = [found, ...others].map(({ id }) => id)
  throw failure('ambiguous', `${ids.length} webhooks are named ${idOrName}`, `Give an id: ${ids.join(', ')}.`)
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

const describeKey = (key: unknown, set: string): string =>
  key === '' ? 'none' : isHiddenKey(key) ? 'not shown' : set

export function toPrintable(value: unknown): string {
  if (Array.isArray(value)) return value.map(toPrintable).join(',')
  return printable(typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? ''))
}

const COLUMNS = ['service', 'id', 'name', 'change types', 'active', 'key', 'hookUrl']

function toRow({ folderName, serviceName, serviceType, ...webhook }: ListedWebhook): string[] {
  const { id, name, changeTypes, active, signatureKey, hookUrl } = webhook
  const service = `${folderName ? `${folderName}/` : ''}${serviceName}.${serviceType}`
  const isActive = typeof active === 'boolean' ? (active ? 'yes' : 'no') : 'not shown'
  const key = describeKey(signatureKey, HIDDEN)
  return [service, id, name, changeTypes, isActive, key, hookUrl].map(toPrintable)
}

export function createListCommand(io: Io): Command {
  return new CliCommand('list')
    .summary('list the webhooks of a service, or of all services')
    .description('Lists webhooks. Keys are shown as ***.')
    .argument('[service]', 'for example Parcels.FeatureServer or folder/Analysis.GPServer', servicePath)
    .with(addClientOptions)
    .examples('geohook list', 'geohook list Parcels.FeatureServer --json')
    .action(async (service: ServicePath | undefined, options: ClientOptions) => {
      const webhooks = await withClient(io, options, (client) => listWebhooks(io, client, service))
      io.printResult(redactKeys({ webhooks }), () => {
        if (webhooks.length === 0) io.print('there are no webhooks')
        else io.printTable(COLUMNS, webhooks.map(toRow))
      })
    })
}

export interface WebhookOptions extends ClientOptions, KeyOptions {
  name?: string
  hookUrl?: URL
  changeTypes?: string[]
  active?: 'true' | 'false'
  contentType?: string
  payloadFormat?: string
  schedule?: string
}

export function addWebhookOptions(command: CliCommand): void {
  const contentTypes = ['application/json', 'application/x-www-form-urlencoded']
  command
    .choice('--active <boolean>', 'whether events trigger it', ['true', 'false'])
    .choice('--content-type <type>', 'content type of its deliveries', contentTypes)
    .choice('--payload-format <name>', 'format of its payloads; pjson is indented JSON', ['json', 'pjson'])
    .option('--schedule <json>', 'scheduleInfo as a JSON object, or some of its members')
    .with(addNewKeyOptions)
    .with(addClientOptions)
}

/** Converts the given options to the form parameters of a service. @throws {CliError} exit code 2 if one is invalid */
export async function readWebhookOptions(io: Io, options: WebhookOptions): Promise<Record<string, string>> {
  const { name, hookUrl, changeTypes, active, contentType, payloadFormat, schedule } = options
  if (schedule !== undefined && !toRecord(tryJson(schedule)))
    throw usageError(
      '--schedule must be a JSON object',
      `For example '{"recurrenceInfo":{"interval":30,"frequency":"second"}}'.`,
    )
  const parameters = {
    name,
    hookUrl: hookUrl?.href,
    changeTypes: changeTypes && JSON.stringify(changeTypes.flatMap((names) => names.split(','))),
    active,
    contentType,
    payloadFormat,
    scheduleInfo: schedule,
    signatureKey: hasKeyOption(options) ? await requireKey(io, options) : undefined,
  }
  return Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

export function createCreateCommand(io: Io): Command {
  return new CliCommand('create')
    .summary('create a webhook')
    .description(
      'Creates a webhook on a service. Without --change-types, every event triggers it. ' +
        'Its key comes only from a key option, not from SIGNATURE_KEY.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .requiredOption('--name <text>', 'name of the webhook, unique within the service')
    .requiredOption('--hook-url <url>', 'payload URL', httpUrl)
    .option(
      '--change-types <names>',
      'change types that trigger it, separated by commas (default: *)',
      collect,
    )
    .with(addWebhookOptions)
    .examples(
      'geohook create Parcels.FeatureServer --name edits --hook-url http://127.0.0.1:3000/ --key-file key.txt',
      'geohook create Analysis.GPServer --name jobs --hook-url http://127.0.0.1:3000/jobs',
    )
    .action(async (service: ServicePath, options: WebhookOptions) => {
      const parameters = await readWebhookOptions(io, options)
      const created = await withClient(io, options, (client) =>
        client.postForm(`${webhooksPath(service)}/create`, parameters),
      )
      const { id, name, hookUrl, changeTypes, active, signatureKey } = created
      io.printResult(redactKeys(created), () => {
        io.print(`${io.colours.green('created')} ${toPrintable(name)} (${toPrintable(id)})`)
        io.print(`  hookUrl      ${toPrintable(hookUrl)}`)
        io.print(`  changeTypes  ${toPrintable(changeTypes)}`)
        io.print(`  active       ${toPrintable(active)}`)
        io.print(`  key          ${describeKey(signatureKey, 'set')}`)
      })
    })
}

export function createDeleteCommand(io: Io): Command {
  return new CliCommand('delete')
    .summary('delete webhooks')
    .description('Deletes webhooks permanently. If one of them does not exist, none is deleted.')
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .argument('[webhooks...]', 'ids or names of the webhooks')
    .option('--all', 'delete all webhooks of the service')
    .with(addClientOptions)
    .examples(
      "geohook delete Parcels.FeatureServer 'parcel edits'",
      'geohook delete Parcels.FeatureServer --all',
    )
    .action(async (service: ServicePath, names: string[], options: ClientOptions & { all?: true }) => {
      const { all } = options
      if (all ? names.length > 0 : names.length === 0)
        throw usageError('give either the webhooks to delete or --all', '"geohook list" shows the webhooks.')
      const deleted = await withClient(io, options, async (client) => {
        const webhooks = await listWebhooks(io, client, service)
        const found = all ? webhooks : [...new Set(names.map((name) => findWebhook(webhooks, name)))]
        if (all) await client.postForm(`${webhooksPath(service)}/deleteAll`)
        else await deleteEach(client, webhooksPath(service), found)
        return found
      })
      if (io.json) return io.printJson({ deleted: deleted.map(({ id }) => id) })
      for (const { id, name } of deleted)
        io.print(`${io.colours.green('deleted')} ${toPrintable(name)} (${toPrintable(id)})`)
      if (all) io.print(count(deleted.length, 'webhook'))
    })
}

async function deleteEach(client: ServiceClient, path: string, webhooks: ListedWebhook[]): Promise<void> {
  for (const [index, { id }] of webhooks.entries())
    await client.postForm(`${path}/${encodeURIComponent(id)}/delete`).catch((error: unknown) => {
      if (index === 0 || !(error instanceof CliError)) throw error
      const before = webhooks.slice(0, index).map(({ id }) => id)
      const message = `${error.message}; already deleted: ${before.join(', ')}`
      throw new CliError(error.exitCode, error.code, message, error.hint)
    })
}
