import { configInvalid } from '../errors.ts'
import { checkOptions, isFilledText, isText, must, requireValue } from '../options.ts'
import { isObject, type Json } from '../shared/json.ts'
import { parseService } from './address.ts'
import { readChanges } from './changes.ts'
import { isEdited, isSame, toResult } from './compare.ts'
import type { AdminError } from './errors.ts'
import { layOver, readWebhook, toDate, toForm, valuesOf } from './members.ts'
import type { Requester } from './request.ts'
import type {
  ChangeResult,
  EditOptions,
  NewWebhook,
  Notification,
  Product,
  Webhook,
  WebhookChanges,
  Webhooks,
} from './types.ts'

/** Where a service or a portal has its webhooks. */
interface Place {
  /** `[folder/]<name>.<type>`; empty for a portal. */
  service: string
  path(): Promise<string>
  list(): AsyncIterable<Webhook>
}

/** The webhooks of a service. @throws {WebhookError} `config_invalid`, `admin_unsupported` */
export function webhooksOfService(requester: Requester, service: string): Webhooks {
  const { folder, name, type } = parseService(service)
  const { product } = requester.address
  const isOnline = product === 'online'
  if (product === 'portal' || (isOnline && type === 'GPServer'))
    throw requester.error('admin_unsupported', {
      message: `${isOnline ? 'ArcGIS Online' : 'a portal'} has no webhooks of ${service}`,
      hint: isOnline ? '' : 'Give the address of the server as url.',
    })
  const names = [...(folder ? [folder] : []), name].map(encodeURIComponent).join('/')
  const path = `/services/${names}${isOnline ? '/FeatureServer/WebHooks' : `.${type}/webhooks`}`
  async function* list(): AsyncGenerator<Webhook> {
    yield* toWebhooks(requester, await requester.read(path), service)
  }
  return createWebhooks(requester, { service, path: async () => path, list })
}

/** The webhooks of a portal. */
export function webhooksOfPortal(requester: Requester): Webhooks {
  let found: Promise<string> | undefined
  // A request that failed is repeated.
  const path = (): Promise<string> =>
    (found ??= pathOfPortal(requester).catch((error: unknown) => {
      found = undefined
      throw error
    }))
  async function* list(): AsyncGenerator<Webhook> {
    for await (const page of pagesOf(requester, await path())) yield* toWebhooks(requester, page, '')
  }
  return createWebhooks(requester, { service: '', path, list })
}

export async function pathOfPortal(requester: Requester): Promise<string> {
  const portal = await requester.read('/portals/self')
  if (!isObject(portal) || !isId(portal.id)) throw malformed(requester, 'the id of the portal')
  return `/portals/${encodeURIComponent(String(portal.id))}/webhooks`
}

/** Maximum number of pages of a list. */
export const MAX_PAGES = 1_000

/** Reads all pages of a portal's list. Some versions have one page, without the members of paging. */
async function* pagesOf(requester: Requester, paths: string | readonly string[]): AsyncGenerator<Json> {
  for (let start = 1, pages = 0; start > 0; pages++) {
    if (pages === MAX_PAGES) throw malformed(requester, 'the end of the list')
    const page = await requester.read(paths, { start: String(start), num: '100' })
    if (!isObject(page)) throw malformed(requester, 'a page of the list')
    yield page
    const next = Number(page.nextStart ?? -1)
    start = next > start ? next : -1
  }
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
  requester.error('admin_malformed', {
    message: `the response does not come from a webhook service: ${what} is missing or has another form`,
    hint: 'Check that it is the address of the administration.',
  })

function createWebhooks(requester: Requester, { service, path, list }: Place): Webhooks {
  const { product } = requester.address
  const isPortal = product === 'portal'
  const place = service || 'the portal'

  async function listAll(): Promise<Webhook[]> {
    const webhooks: Webhook[] = []
    for await (const webhook of list()) webhooks.push(webhook)
    return webhooks
  }

  const named = async (name: string): Promise<Webhook[]> =>
    (await listAll()).filter((webhook) => webhook.name === name)

  function onlyOne([found, ...others]: readonly Webhook[], name: string): Webhook {
    if (found && others.length === 0) return found
    const shown = requester.hide(name)
    if (!found) throw requester.error('admin_not_found', { message: `${place} has no webhook ${shown}` })
    throw requester.error('admin_ambiguous', {
      message: `${others.length + 1} webhooks of ${place} are named ${shown}`,
      hint: `Give an id: ${[found, ...others].map(({ id }) => id).join(', ')}.`,
    })
  }

  /** @throws {WebhookError} `config_invalid`, for example for an unset variable, `admin_not_found`, `admin_ambiguous` */
  async function find(idOrName: string): Promise<Webhook> {
    requireValue('the id or name of the webhook', idOrName, isFilledText)
    const webhooks = await listAll()
    const withId = webhooks.filter(({ id, raw }) => id === idOrName || raw.globalId === idOrName)
    const all = withId.length > 0 ? withId : webhooks.filter(({ name }) => name === idOrName)
    const found = onlyOne(all, idOrName)
    requester.keepSecrets(found.key, found.hookUrl)
    return found
  }

  /**
   * The paths of an operation on a webhook. ArcGIS Online documents one id, and its Python client uses the other; the
   * documented edit of ArcGIS Enterprise on Kubernetes lacks the word `webhooks` (docs/senders.md, "Administration").
   */
  async function pathsOf({ id, raw }: Webhook, operation = ''): Promise<string[]> {
    const base = await path()
    const ids = [id, ...(typeof raw.globalId === 'string' ? [raw.globalId] : [])].map(encodeURIComponent)
    const short =
      operation !== '' && base.endsWith('/webhooks') && !isPortal ? [base.replace(/\/webhooks$/, '')] : []
    return [
      ...new Set([base, ...short].flatMap((start) => ids.map((name) => `${start}/${name}${operation}`))),
    ]
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
      throw requester.error('admin_conflict', {
        message: `the name is taken by the webhook ${taken.id} of ${place}`,
        hint: 'Give another name, or edit that webhook.',
      })
    const form = toForm(product, isPortal ? { changeTypes: ['*'], ...wanted } : wanted)
    const isMade = async (): Promise<boolean> => (await named(name)).length > 0
    const answer = await requester.change(
      (await path()) + (isPortal ? '/createWebhook' : '/create'),
      form,
      isMade,
    )
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

  async function edit(
    idOrName: string,
    given: WebhookChanges,
    options: EditOptions = {},
  ): Promise<ChangeResult> {
    const changes = readChanges(requester, service, given)
    const { seen } = checkOptions<EditOptions>(options, { seen: must('be a webhook that was read', isRead) })
    const before = await read(await find(idOrName))
    if (seen && !isSame(seen, before))
      throw requester.error('admin_conflict', {
        message: 'somebody has changed the webhook since you have seen it; nothing was written',
        hint: 'Read it again, and decide whether you still want the edit.',
      })
    if (Object.keys(changes).length === 0) return toResult(requester, before, {}, before)
    // A portal switches a webhook with an operation of its own, which sends no other member.
    const isUpdate = !isPortal || Object.keys(changes).some((name) => name !== 'active')
    for (const name of isPortal ? (['key'] as const) : (['key', 'active'] as const))
      if (isUpdate && before[name] === undefined && changes[name] === undefined)
        throw configInvalid(
          `edit: ${name} is missing, and the service does not show it, so the edit could erase it; nothing was written`,
          name === 'key'
            ? 'Give the current or a new key, or an empty one if the webhook has none.'
            : undefined,
        )
    const wanted = layOver(valuesOf(before), changes)
    const sent = Object.entries(wanted).filter(([name, value]) => name in changes || !isEmpty(value))
    const names = Object.keys(changes).filter((name) => !isPortal || name !== 'active')
    let answer: unknown
    if (isUpdate)
      answer = await requester.change(
        await pathsOf(before, isPortal ? '/update' : '/edit'),
        toForm(product, Object.fromEntries(sent), before.raw),
        async () => isEdited(names, isPortal ? { ...wanted, active: undefined } : wanted, await read(before)),
      )
    return afterwards(async () => {
      const { active } = changes
      if (isPortal && active !== undefined && active !== before.active) await switchPortal(before, active)
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
      throw requester.error('admin_unknown', {
        message: 'the service accepted the change, but did not show the result',
        hint: `Read the webhook to see the result. ${message}`,
        cause,
      })
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
  async function changeAll(
    operation: string,
    isDone: (webhooks: readonly Webhook[]) => boolean,
    changeOne: (webhook: Webhook) => Promise<void>,
  ): Promise<void> {
    if (isPortal) for (const webhook of await listAll()) await changeOne(webhook)
    else await requester.change(`${await path()}/${operation}`, {}, async () => isDone(await listAll()), true)
  }

  const switchAll = (active: boolean): Promise<void> =>
    changeAll(
      active ? 'activateAll' : 'deactivateAll',
      (webhooks) => webhooks.every((webhook) => webhook.active === active),
      (webhook) => switchPortal(webhook, active),
    )

  async function switchOne(
    idOrName: string,
    active: boolean,
    options: { key?: string } = {},
  ): Promise<ChangeResult> {
    checkOptions(options, { key: isText })
    return edit(idOrName, { ...options, active })
  }

  const { oneByOne } = requester
  return {
    list,
    get: async (idOrName) => read(await find(idOrName)),
    create: (webhook) => oneByOne(() => create(webhook)),
    edit: (idOrName, changes, options) => oneByOne(() => edit(idOrName, changes, options)),
    delete: (idOrName) => oneByOne(async () => remove(await find(idOrName))),
    activate: (idOrName, options) => oneByOne(() => switchOne(idOrName, true, options)),
    deactivate: (idOrName, options) => oneByOne(() => switchOne(idOrName, false, options)),
    deleteAll: () => oneByOne(() => changeAll('deleteAll', (webhooks) => webhooks.length === 0, remove)),
    activateAll: () => oneByOne(() => switchAll(true)),
    deactivateAll: () => oneByOne(() => switchAll(false)),
    async failures(idOrName) {
      const paths = await pathsOf(await find(idOrName), '/notificationStatus')
      if (!isPortal) return toNotifications(requester, await requester.read(paths))
      const notifications: Notification[] = []
      for await (const page of pagesOf(requester, paths))
        notifications.push(...toNotifications(requester, page))
      return notifications
    },
  }
}

/** True for webhooks from `list` or `get`. Those from JSON lack what JSON hides. */
const isRead = (seen: unknown): boolean =>
  isObject(seen) && isObject(seen.raw) && (seen.modified === undefined || seen.modified instanceof Date)

const isEmpty = (value: unknown): boolean =>
  value === '' || value === undefined || (isObject(value) && Object.keys(value).length === 0)

/** Reads the recorded deliveries, in any of the three forms (docs/senders.md, "Administration"). */
function toNotifications(requester: Requester, answer: unknown): Notification[] {
  const found: unknown = Array.isArray(answer) ? answer[0] : answer
  const list = isObject(found) ? (found.webhookNotificationStatus ?? found.WebhookStatus) : undefined
  if (!Array.isArray(list)) throw malformed(requester, 'the list of deliveries')
  return list
    .filter(isObject)
    .map(({ invoked, isInvoked, invokedTimestamp, serverResponse, responseText }) => {
      const at = toDate(invokedTimestamp)
      const response = serverResponse ?? responseText
      const isDelivered = String(invoked ?? isInvoked).toLowerCase() === 'true'
      if (!at) throw malformed(requester, 'the time of a delivery')
      return {
        at,
        isDelivered,
        ...(typeof response === 'string' ? { response: requester.hide(response) } : {}),
      }
    })
}
