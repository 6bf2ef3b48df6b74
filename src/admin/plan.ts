import { configInvalid } from '../errors.ts'
import { checkOptions, isBoolean, isFunction, must, type OptionNames, wholeNumber } from '../options.ts'
import { secondsOf } from '../shared/client.ts'
import { isObject } from '../shared/json.ts'
import { AdminError } from './errors.ts'
import {
  type DeclaredWebhook,
  type KeyReference,
  PORTAL,
  readWebhookFile,
  toList,
  type WebhookFile,
  webhooksOf,
} from './file.ts'
import { layOver, membersOf, readChangeTypes, relate, showValue, type Values, valuesOf } from './members.ts'
import type {
  Admin,
  ChangeResult,
  Difference,
  Member,
  NewWebhook,
  Webhook,
  WebhookChanges,
  Webhooks,
} from './types.ts'

/** Options of {@link planWebhooks}. */
export interface PlanOptions {
  /** Plan only these services of the file. Default: all of them. */
  services?: readonly string[] | undefined
  /** Values of the variables in the file, for example `process.env`. */
  variables?: Readonly<Record<string, string | undefined>> | undefined
  /** Returns the key of a reference. Required if the file refers to keys. `place` is for errors: the service and webhook. */
  readKey?: ((reference: KeyReference, place: string) => string | Promise<string>) | undefined
  /** Delete the webhooks of a service that the file does not name. If its list is empty, `services` must name it too. */
  deleteUnmanaged?: boolean | undefined
  /** Delete before webhooks are created, so that no event is delivered twice; some are not delivered. */
  deleteFirst?: boolean | undefined
  /** Send the keys that the service does not show, also to webhooks without other changes. */
  sendKeys?: boolean | undefined
  /** Maximum number of webhooks of a service, 1 to 1,000. Default: 10 at ArcGIS Online, otherwise none. */
  limit?: number | undefined
}

/** A planned change of one webhook. */
export interface PlannedChange {
  readonly action: 'edit' | 'create' | 'delete'
  readonly service: string
  /** The name before the change. */
  readonly name: string
  /** Undefined for a webhook to create. */
  readonly id: string | undefined
  /** When the webhook was last edited, if the service shows it. */
  readonly modified: Date | undefined
  /** The members that change, without secrets. */
  readonly members: readonly Difference[]
}

/** What differs between a file and a service, and what {@link applyPlan} will do. */
export interface PlannedService {
  readonly service: string
  /** In the order in which they will be made. */
  readonly changes: readonly PlannedChange[]
  /** The names of webhooks that the file does not name, and that no change deletes. */
  readonly unmanaged: readonly string[]
  /** The members of a webhook that are in the file, and that the service does not show. */
  readonly notCompared: readonly { name: string; members: readonly Member[] }[]
  /** What is worth knowing, in English. */
  readonly notes: readonly string[]
}

/** The result of {@link planWebhooks}. It contains no secret, so it can be stored as JSON. */
export interface Plan {
  readonly site: string
  readonly services: readonly PlannedService[]
}

const RULES: OptionNames<PlanOptions> = {
  services: /* @__PURE__ */ must('be a list of names', Array.isArray),
  variables: /* @__PURE__ */ must('be an object of texts', isObject),
  readKey: isFunction,
  deleteUnmanaged: isBoolean,
  deleteFirst: isBoolean,
  sendKeys: isBoolean,
  limit: /* @__PURE__ */ wholeNumber(1, 1000),
}

/** Makes the changes of plans. Plans that were stored and read again have none. */
const runs = new WeakMap<PlannedChange, () => Promise<ChangeResult | undefined>>()

/**
 * Compares a file with the services, and plans the changes that make them equal. It changes nothing.
 *
 * A webhook is found by its name. One with `was` is renamed while the service has the old name and not the new one.
 *
 * @throws {WebhookError} `config_invalid` for an invalid file, one of another site, a variable without a value, or a key
 *   that is needed and not in the file; `admin_ambiguous` if two webhooks of a service have a name of the file;
 *   `admin_refused` if a service would have more webhooks than it may; and the errors of `Webhooks.list`
 *
 * @example
 * ```ts
 * import { createAdmin, planWebhooks } from 'geohook/admin'
 *
 * const admin = createAdmin({ url: 'https://gis.example.com/server', token: 'a-token' })
 * const services = { 'Parcels.FeatureServer': [{ name: 'edits', changeTypes: ['FeaturesCreated'] }] }
 * const plan = await planWebhooks(admin, { site: 'https://gis.example.com', services })
 * for (const { service, changes, unmanaged } of plan.services) console.log(service, changes, unmanaged)
 * ```
 */
export async function planWebhooks(
  admin: Admin,
  file: WebhookFile,
  options: PlanOptions = {},
): Promise<Plan> {
  const { services, variables = {}, ...others } = checkOptions(options, RULES)
  const { services: declared } = readWebhookFile(admin, file, variables)
  const unknown = services?.find((service) => !Object.hasOwn(declared, service))
  if (unknown !== undefined) throw configInvalid(`the file has no list for the service ${unknown}`)
  const planned: PlannedService[] = []
  for (const service of new Set(services ?? Object.keys(declared))) {
    const webhooks = declared[service] ?? []
    if (others.deleteUnmanaged && webhooks.length === 0 && !services?.includes(service))
      throw configInvalid(
        `${service}: its list is empty, so all of its webhooks would be deleted`,
        'Name the service too.',
      )
    planned.push(await planService(admin, service, webhooks, others))
  }
  return { site: new URL(admin.url).origin, services: planned }
}

async function planService(
  admin: Admin,
  service: string,
  declared: readonly DeclaredWebhook[],
  options: PlanOptions,
): Promise<PlannedService> {
  const webhooks = webhooksOf(admin, service)
  const listed = await toList(webhooks.list())
  const place = { admin, service, webhooks, options }
  const [edits, creates]: [PlannedChange[], PlannedChange[]] = [[], []]
  const notes: string[] = []
  const notCompared: PlannedService['notCompared'][number][] = []
  const matches = matchAll(declared, listed, service)
  for (const [entry, found] of matches) {
    const key = await readKey(entry, service, options)
    if (!found) creates.push(planCreate(place, entry, key))
    else {
      const plan = await planEdit(place, entry, key, found)
      if (plan.change) edits.push(plan.change)
      notes.push(...plan.notes)
      if (plan.notCompared.length > 0) notCompared.push({ name: entry.name, members: plan.notCompared })
    }
  }
  const managed = new Set(matches.values())
  const others = listed.filter((webhook) => !managed.has(webhook))
  const isKept = ({ name }: Webhook): boolean =>
    !options.deleteUnmanaged || declared.some(({ was }) => was === name)
  const deletes = others.filter((webhook) => !isKept(webhook)).map((webhook) => planDelete(place, webhook))
  const unmanaged = others.filter(isKept).map(({ name }) => name)
  const isOnline = admin.product === 'online' && service !== PORTAL
  const { deleteFirst, limit = isOnline ? 10 : Number.POSITIVE_INFINITY } = options
  const most = listed.length + creates.length - (deleteFirst ? deletes.length : 0)
  if (creates.length > 0 && most > limit)
    throw refused(
      'admin_refused',
      `${service} would have ${most} webhooks, but the limit is ${limit}; nothing was written`,
      'Delete webhooks that are not needed, delete first, or raise the limit.',
    )
  if (creates.length > 0 && deletes.length > 0 && !deleteFirst)
    notes.push(
      'until the deletions, new and old webhooks are both active, so handlers can run twice for an event',
    )
  const changes = deleteFirst
    ? [...deletes, ...sortRenames(edits), ...creates]
    : [...sortRenames(edits), ...creates, ...deletes]
  return { service, changes, unmanaged, notCompared, notes }
}

const refused = (code: AdminError['code'], message: string, hint = ''): AdminError =>
  new AdminError(code, { message, hint })

/**
 * Finds the webhook of each entry. An entry whose old name exists, and whose new name is free or is itself the old name of
 * a rename, is renamed.
 *
 * @throws {AdminError} `admin_ambiguous`
 */
function matchAll(
  declared: readonly DeclaredWebhook[],
  listed: readonly Webhook[],
  service: string,
): Map<DeclaredWebhook, Webhook | undefined> {
  const byName = new Map<string, Webhook>()
  const named = new Set(declared.flatMap(({ name, was }) => [name, was]))
  for (const webhook of listed) {
    const { name } = webhook
    if (byName.has(name) && named.has(name))
      throw refused(
        'admin_ambiguous',
        `two webhooks of ${service} are named ${name}; nothing was written`,
        'Rename one of them, by its id.',
      )
    byName.set(name, webhook)
  }
  const freed = new Set<string>()
  const isRename = ({ name, was }: DeclaredWebhook): boolean =>
    was !== undefined &&
    was !== name &&
    byName.has(was) &&
    !freed.has(was) &&
    (!byName.has(name) || freed.has(name))
  const renamed = new Set<DeclaredWebhook>()
  // The first rename of a chain can make the next one possible.
  for (
    let entry = declared.find(isRename);
    entry;
    entry = declared.find((next) => !renamed.has(next) && isRename(next))
  ) {
    renamed.add(entry)
    freed.add(entry.was as string)
  }
  const find = (entry: DeclaredWebhook): Webhook | undefined => {
    if (renamed.has(entry)) return byName.get(entry.was as string)
    return freed.has(entry.name) ? undefined : byName.get(entry.name)
  }
  return new Map(declared.map((entry) => [entry, find(entry)]))
}

/** Orders renames so that each finds its new name free. */
function sortRenames(edits: readonly PlannedChange[]): PlannedChange[] {
  const rest = [...edits]
  const sorted: PlannedChange[] = []
  const newName = ({ members }: PlannedChange): string | undefined =>
    members.find(({ member }) => member === 'name')?.requested
  while (rest.length > 0) {
    const at = rest.findIndex((edit) => !rest.some((other) => other !== edit && other.name === newName(edit)))
    sorted.push(...rest.splice(Math.max(0, at), 1))
  }
  return sorted
}

/** The key of an entry: a text, empty if it shall have none, or undefined if the file does not manage it. */
async function readKey(
  { key, name }: DeclaredWebhook,
  service: string,
  options: PlanOptions,
): Promise<string | undefined> {
  if (key === undefined) return undefined
  if (key === null) return ''
  const place = `${service}, ${name}`
  if (!options.readKey) throw configInvalid(`${place}: key is a reference, and the option readKey is missing`)
  const text: unknown = await options.readKey(key, place)
  if (typeof text === 'string' && text !== '') return text
  throw configInvalid(`${place}: key has no value`, 'Check the variable or the file that it refers to.')
}

interface Place {
  admin: Admin
  service: string
  webhooks: Webhooks
  options: PlanOptions
}

const toChange = (change: PlannedChange, run: () => Promise<ChangeResult | undefined>): PlannedChange => {
  runs.set(change, run)
  return change
}

function wantedOf({ was: _, key: __, ...members }: DeclaredWebhook, key: string | undefined): Values {
  const changeTypes = readChangeTypes(members.changeTypes)
  return { ...members, ...(changeTypes && { changeTypes }), ...(key !== undefined && { key }) }
}

function planCreate(
  { service, webhooks }: Place,
  entry: DeclaredWebhook,
  key: string | undefined,
): PlannedChange {
  const wanted = { active: true, ...wantedOf(entry, key) } as NewWebhook
  const members = (Object.keys(wanted) as Member[]).map((member) => ({
    member,
    requested: showValue(member, wanted[member]),
    stored: '',
  }))
  const { name, hookUrl } = entry
  if (hookUrl === undefined) throw configInvalid(`${service}, ${name}: a new webhook needs a hookUrl`)
  const change = { action: 'create', service, name, id: undefined, modified: undefined, members } as const
  return toChange(change, () => webhooks.create(wanted))
}

function planDelete({ service, webhooks }: Place, webhook: Webhook): PlannedChange {
  const { name, id, modified } = webhook
  const change = { action: 'delete', service, name, id, modified, members: [] } as const
  return toChange(change, async () => {
    await webhooks.delete(webhook)
    return undefined
  })
}

async function planEdit(
  { service, webhooks, options }: Place,
  entry: DeclaredWebhook,
  key: string | undefined,
  listed: Webhook,
): Promise<{ change?: PlannedChange; notes: string[]; notCompared: Member[] }> {
  const current = await webhooks.get(listed)
  const [wanted, stored] = [wantedOf(entry, key), valuesOf(current)]
  const members = membersOf(current.product, current.service).filter((member) => wanted[member] !== undefined)
  const [{ startAt, ...others }, shown] = [wanted.schedule ?? {}, stored.schedule]
  // ArcGIS Online does not show it, and an edit without it may reset it.
  const hidesStart = startAt !== undefined && shown?.recurrenceInfo && shown.startAt === undefined
  const given = { ...wanted, ...(hidesStart && { schedule: others }) } as WebhookChanges
  // Part of a schedule can be given.
  const comparable = layOver(shown ? { schedule: shown } : {}, given)
  const notCompared = members.filter(
    (member) => stored[member] === undefined || (member === 'schedule' && hidesStart),
  )
  const notes: string[] = []
  const differing = members.filter((member) => {
    if (stored[member] === undefined) return false
    const relation = relate(member, comparable[member], stored[member])
    if (relation !== 'adjusted' || !isNormal(member, comparable, current)) return relation !== 'same'
    const [requested, found] = [wanted, stored].map((values) => showValue(member, values[member]))
    notes.push(
      `${entry.name}: ${member} is ${found}, and the file has ${requested}: not a change, because the service probably adjusted it`,
    )
    return false
  })
  const sendsKey = options.sendKeys === true && notCompared.includes('key')
  if (differing.length === 0 && !sendsKey) return { notes, notCompared }
  const isPortal = current.product === 'portal'
  // A portal switches a webhook without sending its members.
  const isSwitch = isPortal && [...differing, ...notCompared].every((member) => member === 'active')
  for (const member of isPortal ? (['key'] as const) : (['key', 'active'] as const))
    if (stored[member] === undefined && wanted[member] === undefined && !isSwitch)
      throw configInvalid(
        `${service}, ${entry.name}: an edit needs the member ${member}, because the service does not show it`,
        member === 'key'
          ? 'Add it to the file, or "key": null if the webhook has none.'
          : 'Add it to the file.',
      )
  const changes = Object.fromEntries(
    [...differing, ...notCompared].map((member) => [member, wanted[member]]),
  ) as WebhookChanges
  const changed = (sendsKey ? [...differing, 'key' as const] : differing).map((member) => ({
    member,
    requested: showValue(member, wanted[member]),
    stored: showValue(member, stored[member]),
  }))
  const { name, id, modified } = current
  const change = { action: 'edit', service, name, id, modified, members: changed } as const
  return { change: toChange(change, () => webhooks.edit(current, changes)), notes, notCompared }
}

/** Seconds to which services raise shorter intervals. 30 is documented for ArcGIS Online (docs/senders.md). */
const isMinimum = (seconds: number, { product }: Webhook): boolean =>
  seconds === 60 || (seconds === 30 && product === 'online')

/** True if a stored value is the form that services give to the wanted one: another edit would change nothing. */
function isNormal(member: Member, { schedule: wanted }: Values, current: Webhook): boolean {
  if (member !== 'schedule') return true
  const { schedule: stored } = valuesOf(current)
  const [seconds, raised] = [secondsOf(wanted?.recurrenceInfo), secondsOf(stored?.recurrenceInfo)]
  const { startAt = stored?.startAt } = wanted ?? {}
  const isLater = Number(startAt) <= Number(stored?.startAt) && Number(startAt) <= Date.now()
  return (
    (seconds === raised || !wanted?.recurrenceInfo || isMinimum(raised, current)) &&
    (startAt === stored?.startAt || isLater)
  )
}

/** How far a change has got. */
export interface AppliedChange extends PlannedChange {
  readonly state: 'done' | 'failed' | 'not begun'
  /** Of a change that is done, unless it is a delete. */
  readonly result?: ChangeResult | undefined
  /** Of a change that failed. */
  readonly error?: unknown
}

/**
 * Makes the changes of a plan, one after another. If one fails, the other changes of its service are not begun; those of
 * other services are. If the process is killed, plan again and apply the rest.
 *
 * @param options `onChange` is called, and awaited, before a change begins and when it has ended
 * @returns every change, with its state
 * @throws {WebhookError} `config_invalid` for another value, and for a plan that was stored and read again; what `onChange` throws
 *
 * @example
 * ```ts
 * import { applyPlan, createAdmin, planWebhooks } from 'geohook/admin'
 *
 * const admin = createAdmin({ url: 'https://gis.example.com/server', token: 'a-token' })
 * const services = { 'Parcels.FeatureServer': [{ name: 'edits', changeTypes: ['FeaturesCreated'] }] }
 * const plan = await planWebhooks(admin, { site: 'https://gis.example.com', services })
 * for (const { name, state, error } of await applyPlan(plan)) console.log(name, state, error)
 * ```
 */
export async function applyPlan(
  plan: Plan,
  options: { onChange?: (change: PlannedChange | AppliedChange) => unknown } = {},
): Promise<AppliedChange[]> {
  const { onChange } = checkOptions(options, { onChange: isFunction })
  const applied: AppliedChange[] = []
  if (!isObject(plan) || !Array.isArray(plan.services))
    throw configInvalid('plan must be the result of planWebhooks')
  const all = plan.services.map(({ changes }) => changes)
  if (all.flat().some((change) => !runs.has(change)))
    throw configInvalid('a plan that was stored cannot be applied', 'Plan again, and compare both plans.')
  for (const changes of all) {
    let isStopped = false
    for (const change of changes) {
      if (!isStopped) await onChange?.(change)
      const outcome: AppliedChange = isStopped ? { ...change, state: 'not begun' } : await run(change)
      isStopped ||= outcome.state === 'failed'
      applied.push(outcome)
      if (outcome.state !== 'not begun') await onChange?.(outcome)
    }
  }
  return applied
}

async function run(change: PlannedChange): Promise<AppliedChange> {
  try {
    return { ...change, state: 'done', result: await runs.get(change)?.() }
  } catch (error) {
    return { ...change, state: 'failed', error }
  }
}
