import { configInvalid, type WebhookError } from '../errors.ts'
import { checkOptions, isFilledText, must, type OptionNames } from '../options.ts'
import { isObject } from '../shared/json.ts'
import { HIDDEN, isSecretMember } from '../shared/redact.ts'
import { replaceSecrets } from '../shared/url-secrets.ts'
import { parseService } from './address.ts'
import { checkChanges } from './changes.ts'
import { membersOf, type Values } from './members.ts'
import type { Admin, Product, Webhook, WebhookChanges, Webhooks } from './types.ts'

/** Where a key is kept: an environment variable, a file with the key, or a keyring, whose first key is used. */
export type KeyReference = { env: string } | { file: string } | { keyring: string }

/** A webhook as it shall be. Members left out are not managed: an edit keeps them, and a service has defaults for them. */
export interface DeclaredWebhook extends Omit<WebhookChanges, 'key'> {
  name: string
  /** The name that it has until it is renamed. */
  was?: string
  /** null if it shall have no key. */
  key?: KeyReference | null
}

/**
 * The webhooks of services, as a file describes them. `${NAME}` in a text is replaced by the value of a variable; `$${` is
 * the text `${`.
 */
export interface WebhookFile {
  /** The address of a JSON schema, for editors. */
  $schema?: string
  /** Origin of the server or portal, for example `https://gis.example.com`. */
  site: string
  /** The webhooks by service, written `[folder/]<name>.<type>`, or `portal`. Services without a list are not managed. */
  services: Readonly<Record<string, readonly DeclaredWebhook[]>>
}

/** The service in the file that means the webhooks of the portal itself. */
export const PORTAL = 'portal'

export const webhooksOf = (admin: Admin, service: string): Webhooks =>
  service === PORTAL ? admin.portal() : admin.service(service)

export async function toList(webhooks: AsyncIterable<Webhook>): Promise<Webhook[]> {
  const list: Webhook[] = []
  for await (const webhook of webhooks) list.push(webhook)
  return list
}

const isReference = (key: unknown): boolean => {
  const [[name, value] = [], ...others] = Object.entries(isObject(key) ? key : {})
  return (
    others.length === 0 &&
    ['env', 'file', 'keyring'].includes(String(name)) &&
    isFilledText(value) === undefined
  )
}

const FILE_RULES: OptionNames<WebhookFile> = {
  $schema: isFilledText,
  site: /* @__PURE__ */ must(
    'be an origin like https://gis.example.com',
    (site) => typeof site === 'string' && /^https?:/i.test(site) && URL.canParse(site),
  ),
  services: /* @__PURE__ */ must('be an object with a list of webhooks for each service', isObject),
}

/**
 * Checks a file, and fills in its variables.
 *
 * @param admin the site for which the file is
 * @param file the content of the file
 * @param variables the values, for example `process.env`
 * @throws {WebhookError} `config_invalid`, also for a file of another site; the message names the place in the file
 *
 * @example
 * ```ts
 * import { createAdmin, readWebhookFile } from 'geohook/admin'
 *
 * const admin = createAdmin({ url: 'https://gis.example.com/server', token: 'a-token' })
 * const services = { 'Parcels.FeatureServer': [{ name: 'edits', hookUrl: '${APP}/hooks/parcels' }] }
 * const file = { site: 'https://gis.example.com', services }
 * console.log(readWebhookFile(admin, file, { APP: 'https://app.example' }).services)
 * ```
 */
export function readWebhookFile(
  admin: Pick<Admin, 'product' | 'url'>,
  file: WebhookFile,
  variables: Readonly<Record<string, string | undefined>> = {},
): WebhookFile {
  const { product, url } = admin
  const missing = new Set<string>()
  const filled = fill(file, variables, missing)
  if (missing.size > 0)
    throw configInvalid(
      `the file has variables without a value: ${[...missing].join(', ')}`,
      'Give each a value that is not empty, in the environment or in the option variables.',
    )
  const { site, services }: Partial<WebhookFile> = checkOptions(
    filled as WebhookFile,
    FILE_RULES,
    'file member',
  )
  if (site === undefined || services === undefined) throw configInvalid('the file has no site or no services')
  // Its other parts can contain a password.
  const [{ origin: wanted }, { origin }] = [new URL(site), new URL(url)]
  if (wanted !== origin)
    throw configInvalid(
      `the file is for the site ${wanted}, not for ${origin}`,
      'Give the address of that site as url, or change site in the file.',
    )
  const places = new Set<string>()
  for (const [service, webhooks] of Object.entries(services)) {
    if (service !== PORTAL) parseService(service)
    // Some services take names in any letter case: each list would delete the webhooks of the other one.
    if (places.has(service.toLowerCase())) throw configInvalid(`the service ${service} has two lists`)
    places.add(service.toLowerCase())
    if (!Array.isArray(webhooks)) throw configInvalid(`${service}: the webhooks must be a list`)
    const names = new Set<string>()
    for (const [index, webhook] of webhooks.entries()) {
      checkWebhook(
        webhook,
        `${service}, webhook ${index + 1}`,
        service === PORTAL ? 'portal' : product,
        service,
      )
      if (names.has(webhook.name)) throw configInvalid(`${service}: two webhooks are named ${webhook.name}`)
      names.add(webhook.name)
    }
  }
  return filled as WebhookFile
}

function checkWebhook(webhook: unknown, place: string, product: Product, service: string): void {
  if (!isObject(webhook)) throw configInvalid(`${place} must be an object`)
  const { was, key, ...members } = webhook as unknown as DeclaredWebhook
  const problem = isFilledText(members.name)
    ? 'has no name'
    : was !== undefined && isFilledText(was)
      ? 'has an invalid member was'
      : key !== undefined && key !== null && !isReference(key)
        ? 'must have a key like {"env":"PARCELS_KEY"}, {"file":"key.txt"} or {"keyring":"keys.json"}, or null'
        : undefined
  if (problem) throw configInvalid(`${place} ${problem}`)
  const known: readonly string[] = membersOf(product, service)
  const absent = Object.keys(members).filter((name) => !known.includes(name))
  if (absent.length > 0)
    throw configInvalid(
      `${place} has unknown members: ${absent.join(', ')}`,
      `Possible are was, ${known.join(', ')}.`,
    )
  // What printed the file has hidden a part, for example of a URL in the properties.
  if (JSON.stringify(members).includes(HIDDEN))
    throw configInvalid(`${place} contains ${HIDDEN}, the mark of a hidden part`)
  try {
    checkChanges(members)
  } catch (error) {
    throw configInvalid(`${place}: ${(error as Error).message}`)
  }
}

const VARIABLE = /\$\$\{|\$\{([^{}]*)\}/g

/** @param missing gets the names of variables without a value; an empty one counts as unset */
function fill(
  value: unknown,
  variables: Readonly<Record<string, string | undefined>>,
  missing: Set<string>,
): unknown {
  if (typeof value === 'string')
    return value.replace(VARIABLE, (_, name?: string) => {
      if (name === undefined) return '${'
      const text = Object.hasOwn(variables, name) ? variables[name] : undefined
      if (!text) missing.add(name)
      return text ?? ''
    })
  if (Array.isArray(value)) return value.map((item) => fill(item, variables, missing))
  if (!isObject(value)) return value
  // As JSON does: a member that is undefined is left out.
  const given = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(given.map(([name, item]) => [name, fill(item, variables, missing)]))
}

/** A variable of a new file that must get a value. */
export interface PulledVariable {
  name: string
  service: string
  webhook: string
  /** The member whose value is secret. */
  member: 'key' | 'hookUrl' | 'properties'
}

/**
 * Describes the webhooks of a site as a file. The file contains no secret: keys are references to environment variables,
 * and the values of queries, user names and long random parts of payload URLs are variables.
 *
 * @param options the names of the `services`, and `portal` for those of the portal. Default: all that `admin.list()`
 *   lists, without services that do not exist
 * @returns the file, and the variables that need values
 * @throws {WebhookError} `config_invalid` if the list does not show the services; the errors of `admin.list()`
 *
 * @example
 * ```ts
 * import { createAdmin, pullWebhooks } from 'geohook/admin'
 *
 * const admin = createAdmin({ url: 'https://gis.example.com/server', token: 'a-token' })
 * const { file, variables } = await pullWebhooks(admin)
 * console.log(JSON.stringify(file, null, 2), variables)
 * ```
 */
export async function pullWebhooks(
  admin: Admin,
  options: { services?: readonly string[] } = {},
): Promise<{ file: WebhookFile; variables: PulledVariable[] }> {
  const { services = [] } = checkOptions(options, { services: must('be a list of names', Array.isArray) })
  const listed = services.length === 0 ? await toList(admin.list()) : []
  const unplaced = listed.find(({ product, service }) => product !== 'portal' && service === '')
  if (unplaced)
    throw configInvalid(
      `the list does not show to which service ${unplaced.name} belongs`,
      'Name the services.',
    )
  const names = services.length > 0 ? services : listed.map(({ service }) => service || PORTAL)
  const variables: PulledVariable[] = []
  const declared: Record<string, DeclaredWebhook[]> = {}
  for (const service of new Set(names)) {
    try {
      const webhooks = await toList(webhooksOf(admin, service).list())
      declared[service] = webhooks.map((webhook) => describe(webhook, service, variables))
    } catch (error) {
      // The site also lists webhooks of services that were deleted, or whose names have another form.
      const { code } = error as WebhookError
      if (services.length > 0 || !['admin_not_found', 'config_invalid'].includes(code)) throw error
    }
  }
  return { file: { site: new URL(admin.url).origin, services: declared }, variables }
}

function describe(webhook: Webhook, service: string, variables: PulledVariable[]): DeclaredWebhook {
  const addVariable = (member: PulledVariable['member'], what: string): string => {
    const words = [service.replace(/\.\w+$/, ''), webhook.name, what].join('_').toUpperCase()
    const base = words.replace(/[^A-Z\d]+/g, '_').replace(/^(?=\d)/, '_')
    let name = base
    for (let count = 2; variables.some((other) => other.name === name); count++) name = `${base}_${count}`
    variables.push({ name, service, webhook: webhook.name, member })
    return name
  }
  const toUrl = (url: string, member: 'hookUrl' | 'properties'): string =>
    replaceSecrets(escapeText(url), (before) => {
      const parameter = before.endsWith('=')
        ? before
            .slice(0, -1)
            .split(/[?&#;]/)
            .at(-1)
        : ''
      return `\${${addVariable(member, parameter || 'URL')}}`
    })
  /** @param secret the name of the secret that the value belongs to */
  const toText = (value: unknown, secret: string | undefined): unknown => {
    const isText = typeof value === 'string'
    if (secret !== undefined && (isText ? value !== '' : typeof value === 'number'))
      return `\${${addVariable('properties', secret)}}`
    if (isText) {
      return /^https?:/i.test(value) ? toUrl(value, 'properties') : escapeText(value)
    }
    if (Array.isArray(value)) return value.map((item) => toText(item, secret))
    if (!isObject(value)) return value
    const members = Object.entries(value)
    return Object.fromEntries(
      members.map(([name, item]) => [
        name,
        toText(item, secret ?? (isSecretMember(name) ? name : undefined)),
      ]),
    )
  }
  const members = membersOf(webhook.product, service).flatMap((member) => {
    const value = (webhook as Values)[member]
    if (member === 'key') return [[member, value === '' ? null : { env: addVariable(member, member) }]]
    if (value === undefined || !isValid({ [member]: value })) return []
    return [[member, member === 'hookUrl' ? toUrl(String(value), member) : toText(value, undefined)]]
  })
  return Object.fromEntries(members)
}

/** Escapes what could begin a variable. */
const escapeText = (text: string): string => text.replaceAll('${', () => '$${')

/** Some services store what they would refuse. A file cannot manage it. */
function isValid(changes: WebhookChanges): boolean {
  try {
    checkChanges(changes)
    return true
  } catch {
    return false
  }
}
