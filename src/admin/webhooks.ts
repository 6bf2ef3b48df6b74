import { configInvalid } from '../errors.ts'
import { checkOptions, isText, must, requireValue } from '../options.ts'
import { isObject } from '../shared/json.ts'
import { parseService } from './address.ts'
import { readChanges } from './changes.ts'
import { isEdited, isSame, toResult } from './compare.ts'
import type { AdminError } from './errors.ts'
import { layOver, readWebhook, toBoolean, toDate, toForm, toText, valuesOf } from './members.ts'
import type { Requester } from './request.ts'
import type {
  ChangeResult,
  Member,
  NewWebhook,
  Product,
  RecordedDelivery,
  Webhook,
  Webhooks,
} from './types.ts'

/** The webhooks of a service. @throws {WebhookError} `config_invalid`, `admin_unsupported` */
export function webhooksOfService(requester: Requester, service: string): Webhooks {
  const { folder, name, type } = parseService(service)
  const { product } = requester.address
  const isOnline = product === 'online'
  if (product === 'portal' || (isOnline && type === 'GPServer'))
    throw requester.error(
      'admin_unsupported',
      `${isOnline ? 'ArcGIS Online' : 'a portal'} has no webhooks of ${service}`,
      isOnline ? '' : 'Give the address of the server as url.',
    )
  const names = [...(folder ? [folder] : []), name].map(encodeURIComponent).join('/')
  const path = `/services/${names}${isOnline ? '/FeatureServer/WebHooks' : `.${type}/webhooks`}`
  return createWebhooks(requester, service, async () => path)
}

/** The webhooks of a portal. */
export function webhooksOfPortal(requester: Requester): Webhooks {
  let path: Promise<string> | undefined
  // A request that failed is repeated.
  const forget = (error: unknown): never => {
    path = undefined
    throw error
  }
  return createWebhooks(requester, '', () => (path ??= pathOfPortal(requester).catch(forget)))
}

export async function pathOfPortal(requester: Requester): Promise<string> {
  const portal = await requester.read('/portals/self')
  if (!isObject(portal) || !isId(portal.id)) throw malformed(requester, 'the id of the portal')
  return `/portals/${encodeURIComponent(String(portal.id))}/webhooks`
}

/** Maximum number of pages of a list. */
export const MAX_PAGES = 1_000

/** Reads a list; of a portal, page by page. Some versions have one page, without the members of paging. */
async function* pagesOf(requester: Requester, paths: string | readonly string[]): AsyncGenerator<unknown> {
  const isPaged = requester.address.product === 'portal'
  let start = 1
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await requester.read(paths, isPaged ? { start: String(start), num: '100' } : {})
    yield page
    const next = isPaged && isObject(page) ? Number(page.nextStart) : 0
    if (!(next > start)) return
    start = next
  }
  throw malformed(requester, 'the end of the list')
}

/** Reads a list: an array, or an object with the array `webhooks`. @throws {AdminError} `admin_malformed` */
export function toWebhooks(
  requester: Requester,
  answer: unknown,
  service: string,
  product: Product = requester.address.product,
): Webhook[] {
  const items = isObject(answer) ? answer.webhooks : answer
  if (!Array.isArray(items)) throw malformed(requester, 'the list of webhooks')
  return items.map((item) => toWebhook(requester, item, service, product))
}

function toWebhook(requester: Requester, item: unknown, service: string, product: Product): Webhook {
  const { id, globalId } = isObject(item) ? item : {}
  if (!isObject(item) || !isId(id ?? globalId) || (globalId !== undefined && !isId(globalId)))
    throw malformed(requester, 'a webhook')
  return readWebhook(item, product, service)
}

/** True for ids that stay a segment of a path when they are encoded. */
const isId = (id: unknown): boolean =>
  Number.isSafeInteger(id) || (typeof id === 'string' && /^(?!\.{1,2}$)[^\p{Cc}\p{Cs}]{1,256}$/u.test(id))

export const malformed = (requester: Requester, what: string): AdminError =>
  requester.error(
    'admin_malformed',
    `the response does not come from a webhook service: ${what} is missing or has another form`,
    'Check that it is the address of the administration.',
  )

/** @param service empty for a portal */
function createWebhooks(requester: Requester, service: string, path: () => Promise<string>): Webhooks {
  const { product } = requester.address
  const isPortal = product === 'portal'
  const place = service || 'the portal'
  const { oneByOne } = requester

  async function* list(): AsyncGenerator<Webhook> {
    for await (const page of pagesOf(requester, await path())) yield* toWebhooks(requester, page, service)
  }

  async function listAll(): Promise<Webhook[]> {
    const webhooks: Webhook[] = []
    for await (const webhook of list()) webhooks.push(webhook)
    return webhooks
  }

  const named = async (wanted: string): Promise<Webhook[]> =>
    (await listAll()).filter(({ name }) => name === wanted)

  function onlyOne([found, ...others]: readonly Webhook[], name: string): Webhook {
    if (found && others.length === 0) return found
    const shown = requester.hide(name)
    if (!found) throw requester.error('admin_not_found', `${place} has no webhook ${shown}`)
    const ids = [found, ...others].map(({ id }) => id)
    const message = `${ids.length} webhooks of ${place} are named ${shown}`
    throw requester.error('admin_ambiguous', message, `Give an id: ${ids.join(', ')}.`)
  }

  /**
   * Looks up an id or name. A webhook that was read needs no request.
   *
   * @throws {WebhookError} `config_invalid`, for example for an unset variable, `admin_not_found`, `admin_ambiguous`
   */
  async function find(wanted: string | Webhook): Promise<Webhook> {
    if (isRead(wanted)) {
      requester.keepSecrets(wanted.key, wanted.hookUrl)
      if (wanted.product === product && wanted.service.toLowerCase() === service.toLowerCase()) return wanted
      throw configInvalid(`the webhook belongs to ${wanted.service || 'a portal'}, not to ${place}`)
    }
    requireValue('the webhook', wanted, ID_OR_NAME)
    const webhooks = await listAll()
    const withId = webhooks.filter(({ id, raw }) => id === wanted || raw.globalId === wanted)
    const all = withId.length > 0 ? withId : webhooks.filter(({ name }) => name === wanted)
    const found = onlyOne(all, wanted)
    requester.keepSecrets(found.key, found.hookUrl)
    return found
  }

  /** Reads a webhook that is to be changed. @throws {WebhookError} also `admin_conflict` */
  async function readSeen(wanted: string | Webhook): Promise<Webhook> {
    const now = await read(await find(wanted))
    if (typeof wanted === 'string' || isSame(wanted, now)) return now
    throw requester.error(
      'admin_conflict',
      'another client has changed the webhook since you read it; nothing was written',
      'Read it again, and decide whether you still want the change.',
    )
  }

  /**
   * The paths of an operation on a webhook. ArcGIS Online documents one id, and its Python client uses the other; the
   * documented edit of ArcGIS Enterprise on Kubernetes lacks the word `webhooks` (docs/senders.md, "Administration").
   */
  async function pathsOf({ id, raw }: Webhook, operation = ''): Promise<string[]> {
    const base = await path()
    const bases = isPortal || operation === '' ? [base] : [base, base.replace(/\/webhooks$/, '')]
    const ids = [id, String(raw.globalId ?? id)].map(encodeURIComponent)
    return [...new Set(bases.flatMap((start) => ids.map((name) => `${start}/${name}${operation}`)))]
  }

  async function read(webhook: Webhook): Promise<Webhook> {
    const answer = await requester.read(await pathsOf(webhook))
    const found = toWebhook(requester, Array.isArray(answer) ? answer[0] : answer, service, product)
    if (found.id !== webhook.id) throw malformed(requester, `the webhook ${webhook.id}`)
    requester.keepSecrets(found.key, found.hookUrl)
    return found
  }

  async function create(given: NewWebhook): Promise<ChangeResult> {
    const wanted = readChanges(requester, service, given)
    const { name, hookUrl } = wanted
    if (name === undefined || hookUrl === undefined) throw configInvalid('create: name or hookUrl is missing')
    const [taken] = await named(name)
    if (taken)
      throw requester.error(
        'admin_conflict',
        `the name is taken by the webhook ${taken.id} of ${place}`,
        'Give another name, or edit that webhook.',
      )
    const form = toForm(product, isPortal ? { changeTypes: ['*'], ...wanted } : wanted)
    const isMade = async (): Promise<boolean> => (await named(name)).length > 0
    const createPath = (await path()) + (isPortal ? '/createWebhook' : '/create')
    const answer = await requester.change(createPath, form, isMade)
    return afterwards(async () => {
      const { id, globalId } = isObject(answer) ? answer : {}
      const created = (await listAll()).filter((webhook) =>
        id === undefined && globalId === undefined
          ? webhook.name === name
          : [String(id), globalId].includes(webhook.id) || webhook.raw.globalId === (globalId ?? id),
      )
      const found = onlyOne(created, name)
      if (isPortal && wanted.active === false) await switchPortal(found, false)
      return toResult(requester, undefined, wanted, await read(found))
    })
  }

  const edit: Webhooks['edit'] = async (idOrWebhook, edit) => {
    const changes = readChanges(requester, service, edit)
    const before = await readSeen(idOrWebhook)
    if (Object.keys(changes).length === 0) return toResult(requester, before, {}, before)
    // A portal switches a webhook with an operation of its own, which sends no other member.
    const given = Object.keys(changes) as Member[]
    const names = given.filter((name) => !isPortal || name !== 'active')
    const isUpdate = names.length > 0
    for (const name of isPortal ? (['key'] as const) : (['key', 'active'] as const))
      if (isUpdate && before[name] === undefined && changes[name] === undefined)
        throw configInvalid(
          `edit: ${name} is missing, and the service does not show it, so the edit could erase it; nothing was written`,
          name === 'key' ? 'Give the current or a new key, or an empty one if the webhook has none.' : '',
        )
    const wanted = layOver(valuesOf(before), changes)
    const sent = Object.entries(wanted).filter(([name, value]) => name in changes || !isEmpty(value))
    const form = toForm(product, Object.fromEntries(sent), before.raw)
    const compared = isPortal ? { ...wanted, active: undefined } : wanted
    const isMade = async (): Promise<boolean> => isEdited(names, compared, await read(before))
    const paths = await pathsOf(before, isPortal ? '/update' : '/edit')
    const { active } = changes
    const toggle = async (): Promise<void> => {
      if (isPortal && active !== undefined && active !== before.active) await switchPortal(before, active)
    }
    const answer = isUpdate ? await requester.change(paths, form, isMade) : await toggle()
    return afterwards(async () => {
      if (isUpdate) await toggle()
      return toResult(requester, before, wanted, await read(before), answer)
    })
  }

  /** Runs what follows a change that was made: its errors say that it was made. */
  async function afterwards<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } catch (cause) {
      const { code, message } = cause as AdminError
      if (/^admin_(?:not_applied|conflict|ambiguous|unknown)$/.test(code)) throw cause
      throw requester.error(
        'admin_unknown',
        'the service accepted the change, but did not show the result',
        `Read the webhook to see the result. ${message}`,
        { cause },
      )
    }
  }

  async function switchPortal(webhook: Webhook, active: boolean): Promise<void> {
    const operation = active ? '/activate' : '/deactivate'
    const isMade = async (): Promise<boolean> => (await read(webhook)).active === active
    await requester.change(await pathsOf(webhook, operation), {}, isMade, true)
  }

  async function remove(webhook: Webhook): Promise<void> {
    const isMade = async (): Promise<boolean> => !(await listAll()).some(({ id }) => id === webhook.id)
    await requester.change(await pathsOf(webhook, '/delete'), {}, isMade, true)
  }

  /** Changes all webhooks: with one operation, or one after another at a portal, which has no such operation. */
  async function changeAll(operation: 'deleteAll' | 'activateAll' | 'deactivateAll'): Promise<void> {
    const isDelete = operation === 'deleteAll'
    const active = operation === 'activateAll'
    if (isPortal) {
      for (const webhook of await listAll())
        await (isDelete ? remove(webhook) : switchPortal(webhook, active))
      return
    }
    const isMade = async (): Promise<boolean> =>
      (await listAll()).every((left) => !isDelete && left.active === active)
    await requester.change(`${await path()}/${operation}`, {}, isMade, true)
  }

  const switchTo =
    (active: boolean): Webhooks['activate'] =>
    (webhook, options = {}) =>
      oneByOne(async () => edit(webhook, { ...checkOptions(options, { key: isText }), active }))

  return {
    list,
    get: async (webhook) => read(await find(webhook)),
    create: (webhook) => oneByOne(() => create(webhook)),
    edit: (webhook, changes) => oneByOne(() => edit(webhook, changes)),
    delete: (webhook) =>
      oneByOne(async () => remove(await (typeof webhook === 'string' ? find(webhook) : readSeen(webhook)))),
    activate: switchTo(true),
    deactivate: switchTo(false),
    deleteAll: () => oneByOne(() => changeAll('deleteAll')),
    activateAll: () => oneByOne(() => changeAll('activateAll')),
    deactivateAll: () => oneByOne(() => changeAll('deactivateAll')),
    async failures(webhook) {
      const paths = await pathsOf(await find(webhook), '/notificationStatus')
      const deliveries: RecordedDelivery[] = []
      for await (const page of pagesOf(requester, paths))
        for (const delivery of toDeliveries(requester, page)) deliveries.push(delivery)
      return deliveries
    },
  }
}

const ID_OR_NAME = must(
  'be an id, a name, or a webhook from list() or get()',
  (given) => typeof given === 'string' && given !== '',
)

/** True for webhooks from `list` or `get`. Those from JSON lack what JSON hides. */
const isRead = (given: string | Webhook): given is Webhook =>
  isObject(given) && isObject(given.raw) && (given.modified === undefined || given.modified instanceof Date)

const isEmpty = (value: unknown): boolean =>
  value === '' || value === undefined || (isObject(value) && Object.keys(value).length === 0)

/** Reads the recorded deliveries, in any of the three forms (docs/senders.md, "Administration"). */
function toDeliveries(requester: Requester, answer: unknown): RecordedDelivery[] {
  const found: unknown = Array.isArray(answer) ? answer[0] : answer
  const list = isObject(found) ? (found.webhookNotificationStatus ?? found.WebhookStatus) : undefined
  if (!Array.isArray(list)) throw malformed(requester, 'the list of deliveries')
  return list.filter(isObject).map((item) => {
    const at = toDate(item.invokedTimestamp)
    if (!at) throw malformed(requester, 'the time of a delivery')
    const isDelivered = toBoolean(item.invoked ?? item.isInvoked) === true
    const response = toText(item.serverResponse ?? item.responseText)
    return { at, isDelivered, ...(response !== undefined && { response: requester.hide(response) }) }
  })
}
