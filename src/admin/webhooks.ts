import { configInvalid } from '../errors.ts'
import { checkOptions, isBoolean, isFilledText, isText, must, type OptionNames } from '../options.ts'
import { isObject, type Json } from '../shared/json.ts'
import { parseService } from './address.ts'
import { isEdited, isSame, toResult } from './compare.ts'
import type { AdminError } from './errors.ts'
import { layOver, membersOf, readWebhook, toChangeType, toDate, toForm, valuesOf } from './members.ts'
import type { Requester } from './request.ts'
import type {
  ChangeResult,
  EditOptions,
  Member,
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
  const path = (): Promise<string> => (found ??= pathOfPortal(requester))
  async function* list(): AsyncGenerator<Webhook> {
    for await (const page of pagesOf(requester, await path())) yield* toWebhooks(requester, page, '')
  }
  return createWebhooks(requester, { service: '', path, list })
}

export async function pathOfPortal(requester: Requester): Promise<string> {
  const portal = await requester.read('/portals/self')
  if (!isObject(portal) || typeof portal.id !== 'string') throw malformed(requester, 'the id of the portal')
  return `/portals/${encodeURIComponent(portal.id)}/webhooks`
}

/** Reads all pages of a portal's list. Some versions have one page, without the members of paging. */
async function* pagesOf(requester: Requester, paths: string | readonly string[]): AsyncGenerator<Json> {
  for (let start = 1; start > 0; ) {
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
  if (!isObject(item) || (item.id ?? item.globalId) === undefined) throw malformed(requester, 'a webhook')
  const webhook = readWebhook(item, product, service)
  requester.keepSecrets(webhook.key, webhook.hookUrl)
  return webhook
}

const malformed = (requester: Requester, what: string): AdminError =>
  requester.error('admin_malformed', {
    message: `the response is not that of a webhook service: ${what} is missing or has another form`,
    hint: 'Check that it is the address of the administration.',
  })

const RULES: OptionNames<WebhookChanges> = {
  name: isFilledText,
  hookUrl: must(
    'be an http or https URL without white space',
    (url) => /^https?:\/\/[^\s\p{Cc}]+$/iu.test(String(url)) && URL.canParse(String(url)),
  ),
  changeTypes: must(
    'be a list of names, at least one',
    (names) =>
      Array.isArray(names) &&
      names.length > 0 &&
      Array.from(names, String).every((name) => /^[^\s,[\]]+$/.test(name)),
  ),
  key: isText,
  active: isBoolean,
  contentType: isFilledText,
  payloadFormat: isFilledText,
  schedule: must('be an object', isObject),
  deactivation: must(
    'be an object with the numbers numberOfFailures and daysInPast',
    (value) => isObject(value) && [value.numberOfFailures, value.daysInPast].every(Number.isInteger),
  ),
  properties: must('be an object', isObject),
}

function createWebhooks(requester: Requester, { service, path, list }: Place): Webhooks {
  const { product } = requester.address
  const isPortal = product === 'portal'
  const members = membersOf(product, service)
  const place = service || 'the portal'

  /** @throws {WebhookError} `config_invalid`, `admin_unsupported` */
  function readChanges<Changes extends WebhookChanges>(changes: Changes): Changes {
    checkOptions<WebhookChanges>(changes, RULES, 'member')
    const given = Object.entries(changes).filter(([, value]) => value !== undefined)
    const absent = given.map(([name]) => name).filter((name) => !members.includes(name as Member))
    if (absent.length > 0)
      throw requester.error('admin_unsupported', {
        message: `webhooks of ${place} have no ${absent.join(', ')}`,
      })
    requester.keepSecrets(changes.key, changes.hookUrl)
    const { changeTypes } = changes
    const names = changeTypes && { changeTypes: [...new Set(changeTypes.map(toChangeType))] }
    return { ...(Object.fromEntries(given) as Changes), ...names }
  }

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

  async function find(idOrName: string): Promise<Webhook> {
    const webhooks = await listAll()
    const withId = webhooks.filter(({ id, raw }) => id === idOrName || raw.globalId === idOrName)
    return onlyOne(withId.length > 0 ? withId : webhooks.filter(({ name }) => name === idOrName), idOrName)
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
    return found
  }

  async function readChanged(webhook: Webhook): Promise<Webhook> {
    try {
      return await read(webhook)
    } catch (cause) {
      throw requester.error('admin_unknown', {
        message: 'the service accepted the change, but did not show the result',
        hint: `Read the webhook to see the result. ${(cause as Error).message}`,
        cause,
      })
    }
  }

  async function create(given: NewWebhook): Promise<ChangeResult> {
    const wanted = readChanges(given)
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
    await requester.change((await path()) + (isPortal ? '/createWebhook' : '/create'), form, isMade)
    const found = onlyOne(await named(name), name)
    if (isPortal && wanted.active === false) await switchPortal(found, false)
    return toResult(requester, undefined, wanted, await readChanged(found))
  }

  async function edit(
    idOrName: string,
    given: WebhookChanges,
    { seen }: EditOptions = {},
  ): Promise<ChangeResult> {
    const changes = readChanges(given)
    const before = await read(await find(idOrName))
    if (seen && !isSame(seen, before))
      throw requester.error('admin_conflict', {
        message: 'somebody has changed the webhook since you have seen it; nothing was written',
        hint: 'Read it again, and decide whether you still want the edit.',
      })
    const isEdit = !isPortal || Object.keys(changes).some((name) => name !== 'active')
    if (isEdit && before.key === undefined && changes.key === undefined)
      throw configInvalid(
        'edit: key is missing, and the service does not show it, so the edit could erase it; nothing was written',
        'Give the current or a new key, or an empty one if the webhook has none.',
      )
    const wanted = layOver(valuesOf(before), changes)
    const sent = Object.entries(wanted).filter(([name, value]) => name in changes || !isEmpty(value))
    let answer: unknown
    if (isEdit)
      answer = await requester.change(
        await pathsOf(before, isPortal ? '/update' : '/edit'),
        toForm(product, Object.fromEntries(sent), before.raw),
        async () =>
          isEdited(before, isPortal ? { ...wanted, active: undefined } : wanted, await read(before)),
      )
    const { active } = changes
    if (isPortal && active !== undefined && active !== before.active) await switchPortal(before, active)
    return toResult(requester, before, wanted, await readChanged(before), answer)
  }

  async function switchPortal(webhook: Webhook, active: boolean): Promise<void> {
    const operation = active ? '/activate' : '/deactivate'
    const isMade = async (): Promise<boolean> => (await read(webhook)).active === active
    await requester.change(await pathsOf(webhook, operation), {}, isMade)
  }

  async function remove(webhook: Webhook): Promise<void> {
    const isMade = async (): Promise<boolean> => !(await listAll()).some(({ id }) => id === webhook.id)
    await requester.change(await pathsOf(webhook, '/delete'), {}, isMade)
  }

  /** Changes all webhooks: with one operation, or one after another at a portal, which has no such operation. */
  async function changeAll(
    operation: string,
    isDone: (webhooks: readonly Webhook[]) => boolean,
    changeOne: (webhook: Webhook) => Promise<void>,
  ): Promise<void> {
    if (isPortal) for (const webhook of await listAll()) await changeOne(webhook)
    else await requester.change(`${await path()}/${operation}`, {}, async () => isDone(await listAll()))
  }

  const switchAll = (active: boolean): Promise<void> =>
    changeAll(
      active ? 'activateAll' : 'deactivateAll',
      (webhooks) => webhooks.every((webhook) => webhook.active === active),
      (webhook) => switchPortal(webhook, active),
    )

  return {
    list,
    get: async (idOrName) => read(await find(idOrName)),
    create,
    edit,
    delete: async (idOrName) => remove(await find(idOrName)),
    activate: (idOrName, options) => edit(idOrName, { ...options, active: true }),
    deactivate: (idOrName, options) => edit(idOrName, { ...options, active: false }),
    deleteAll: () => changeAll('deleteAll', (webhooks) => webhooks.length === 0, remove),
    activateAll: () => switchAll(true),
    deactivateAll: () => switchAll(false),
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

const isEmpty = (value: unknown): boolean =>
  value === '' || value === undefined || (isObject(value) && Object.keys(value).length === 0)

/** Reads the recorded deliveries, in any of the three forms (docs/senders.md, "Administration"). */
function toNotifications(requester: Requester, answer: unknown): Notification[] {
  const found: unknown = Array.isArray(answer) ? answer[0] : answer
  const list = isObject(found) ? (found.webhookNotificationStatus ?? found.WebhookStatus) : undefined
  if (!Array.isArray(list)) throw malformed(requester, 'the list of deliveries')
  return list
    .filter(isObject)
    .flatMap(({ invoked, isInvoked, invokedTimestamp, serverResponse, responseText }) => {
      const at = toDate(invokedTimestamp)
      const response = serverResponse ?? responseText
      const isDelivered = String(invoked ?? isInvoked).toLowerCase() === 'true'
      if (!at) return []
      return {
        at,
        isDelivered,
        ...(typeof response === 'string' ? { response: requester.hide(response) } : {}),
      }
    })
}
