import { InvalidArgumentError } from 'commander'
import { toRecord } from '../options/values.ts'
import { paint, print } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'
import { type Answer, noService, notFound, type ServiceClient } from './client.ts'

/** A service as it is written on the command line: `[folder/]<name>.<type>`. */
export interface ServicePath {
  folderName: string
  serviceName: string
  serviceType: 'FeatureServer' | 'GPServer'
}

export function servicePath(value: string): ServicePath {
  const [, folderName = '', serviceName = '', type] =
    /^(?:([^/]+)\/)?([^/]+)\.(FeatureServer|GPServer)$/.exec(value) ?? []
  if (!type) {
    throw new InvalidArgumentError('give it as Parcels.FeatureServer or folder/Analysis.GPServer')
  }
  return { folderName, serviceName, serviceType: type as ServicePath['serviceType'] }
}

/** The path of the webhooks of a service (specification, "Endpoints"). */
export function webhooksPath({ folderName, serviceName, serviceType }: ServicePath): string {
  const folder = folderName ? `${encodeURIComponent(folderName)}/` : ''
  return `/services/${folder}${encodeURIComponent(serviceName)}.${serviceType}/webhooks`
}

/** A webhook as a service lists it: what is read of it is checked, the rest is passed on. */
export interface ListedWebhook extends Answer {
  id: string
  name: string
  hookUrl: string
  changeTypes: string[]
}

/** All webhooks of a service, or of the whole site. */
export async function listWebhooks(client: ServiceClient, service?: ServicePath): Promise<ListedWebhook[]> {
  const { webhooks } = await client.get(service ? webhooksPath(service) : '/services/webhooks')
  if (!Array.isArray(webhooks)) throw noService('the answer has no webhooks')
  return webhooks.flatMap((one) => toListed(one) ?? [])
}

function toListed(value: unknown): ListedWebhook | undefined {
  const webhook = toRecord(value)
  if (typeof webhook?.id !== 'string') return undefined
  const { id, name, hookUrl, changeTypes } = webhook
  return {
    ...webhook,
    id,
    name: typeof name === 'string' ? name : '',
    hookUrl: typeof hookUrl === 'string' ? hookUrl : '',
    changeTypes: Array.isArray(changeTypes) ? changeTypes.filter((one) => typeof one === 'string') : [],
  }
}

/** The webhook with this id or, where none has it, this name. @throws {CliError} exit code 1 */
export function findWebhook(webhooks: readonly ListedWebhook[], idOrName: string): ListedWebhook {
  const found = webhooks.find(({ id }) => id === idOrName) ?? webhooks.find(({ name }) => name === idOrName)
  if (!found) throw notFound(`there is no webhook ${idOrName}`)
  return found
}

const SECRET = /^(signature_?key|secret|password|token)$/i

/** The same without keys, wherever the service has put them. */
export const withoutKeys = (answer: Answer): Answer =>
  JSON.parse(JSON.stringify(answer, (name, value) => (SECRET.test(name) && value ? '***' : value)))

/** One text of a webhook, as it may be printed. */
export function text(value: unknown): string {
  if (Array.isArray(value)) return value.map(text).join(',')
  return printable(typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? ''))
}

export const WEBHOOK_COLUMNS = ['service', 'id', 'name', 'change types', 'active', 'key', 'hookUrl'] as const

/** A webhook as a row of a table, without its key. */
export function toRow({ folderName, serviceName, serviceType, ...webhook }: ListedWebhook): string[] {
  const { id, name, changeTypes, active, signatureKey, hookUrl } = webhook
  const service = `${folderName ? `${folderName}/` : ''}${serviceName}.${serviceType}`
  const key = signatureKey ? '***' : 'none'
  return [service, id, name, changeTypes.join(','), active === false ? 'no' : 'yes', key, hookUrl].map(text)
}

/** Tells what became of a webhook, and what of its key. */
export function tellWebhook(
  what: string,
  { id, name, hookUrl, changeTypes, active }: Answer,
  key: string,
): void {
  print(`${paint.green(what)} ${text(name)} (${text(id)})`)
  print(`  hookUrl      ${text(hookUrl)}`)
  print(`  changeTypes  ${text(changeTypes)}`)
  print(`  active       ${text(active)}`)
  print(`  key          ${key}`)
}
