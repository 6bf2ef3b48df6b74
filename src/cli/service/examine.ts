import type { Admin, AdminError, Webhook } from '../../admin/index.ts'
import { findError, toRequest } from '../../shared/client.ts'
import { isObject, type Json, tryJson } from '../../shared/json.ts'
import { decodePercent } from '../../shared/url-secrets.ts'
import { forEachConcurrently } from '../io/concurrently.ts'
import { hasStore, type StoreOptions, withInbox } from '../io/store.ts'
import type { Io } from '../terminal/io.ts'
import type { Connection } from './connect.ts'
import { probeHandshake, probeTls } from './probe.ts'
import { countedFailures, type Findings, judge, type Listing, type Seen, type Traffic } from './verdicts.ts'
import { toList, webhooksOf } from './webhooks.ts'

export interface ExamineOptions extends StoreOptions {
  health?: URL
  probe?: 'tls' | 'handshake'
  origin?: string[]
}

/** What an examination needs, and what it remembers for the next one. */
export interface Examination {
  io: Io
  options: ExamineOptions
  keys: readonly string[]
  admin: Admin
  connection: Connection
  seen: Map<string, Seen>
  /** Number of requests that the receiver had got, and when an examination first saw this number. */
  received?: { total: number; at: Date } | undefined
}

export interface Examined {
  webhook: Webhook
  findings: Findings
}

/** Maximum number of webhooks of a service that are examined at the same time. */
const CONCURRENCY = 4
/** The last time of a Date. */
const MAX_TIME = 8.64e15
/** Maximum milliseconds for a request. */
const TIMEOUT = 60_000

/** @param services names of services. Without any: that in the address, or all */
export async function examine(room: Examination, services: readonly string[]): Promise<Examined[]> {
  const { admin, keys, seen } = room
  const settings = await unlessRefused(() => admin.settings())
  const arrivals = await readArrivals(room)
  const all: Examined[] = []
  for (const { webhooks, name, listing } of await readGroups(admin, services)) {
    const url = listing === 'elsewhere' || admin.product === 'portal' ? undefined : addressOf(admin, name)
    const page = url === undefined ? undefined : await readJson(room.connection, url)
    const isMissing = page === 'missing'
    const service = isMissing ? undefined : page
    const isRead = arrivals !== undefined && service !== undefined && name.endsWith('.FeatureServer')
    const edits = isRead ? await readEdits(room, String(url)) : undefined
    const examined: Examined[] = []
    await forEachConcurrently(webhooks.entries(), CONCURRENCY, async ([index, webhook]) => {
      const { id, active } = webhook
      const read = () => webhooksOf(admin, name || 'portal').failures(webhook)
      const deliveries = listing === 'listed' ? await unlessRefused(read) : undefined
      const now = Date.now()
      const past = seen.get(`${name} ${id}`)
      const traffic: Traffic | undefined = arrivals && edits && { ...arrivals(name), ...edits }
      const known = { now, webhook, siblings: webhooks, settings, deliveries, service, keys, traffic }
      const findings = judge({ ...known, listing, isMissing, seen: past })
      if (active) {
        const latest = countedFailures(known).length
        const failures = Math.max(latest, past?.latest ?? 0)
        seen.set(`${name} ${id}`, { at: new Date(now), latest, failures })
      }
      await probe(room, webhook, findings)
      examined[index] = { webhook, findings }
    })
    all.push(...examined)
  }
  return all
}

/** True for what a service refuses or lacks. Other errors concern every webhook. */
function isRefused(error: unknown): boolean {
  const { code = '', serviceCode } = error as Partial<AdminError>
  if (code === 'admin_unavailable') return serviceCode !== undefined
  // config_invalid: the site lists a service with a name of another form.
  return /^(?:admin_(?:forbidden|not_found|refused|unsupported|malformed)|config_invalid)$/.test(code)
}

async function unlessRefused<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isRefused(error)) return undefined
    throw error
  }
}

interface Group {
  name: string
  webhooks: Webhook[]
  listing: Listing
}

async function readGroups(admin: Admin, services: readonly string[]): Promise<Group[]> {
  const given = services.length > 0 || admin.defaultService === undefined ? services : [admin.defaultService]
  if (given.length > 0) return Promise.all([...new Set(given)].map((name) => readGroup(admin, name)))
  const all = await toList(admin.list())
  if (admin.product === 'portal') return [{ name: '', webhooks: all, listing: 'listed' }]
  const groups = new Map<string, Webhook[]>()
  for (const webhook of all) groups.set(webhook.service, [...(groups.get(webhook.service) ?? []), webhook])
  const found: Group[] = []
  for (const [name, webhooks] of groups) {
    const isElsewhere = webhooks.some(({ raw }) => isOnOtherServer(admin, raw.serviceUrl))
    found.push(
      isElsewhere ? { name, webhooks, listing: 'elsewhere' } : await readGroup(admin, name, webhooks),
    )
  }
  return found
}

/** @param listed the webhooks of the service in the list of the site; undefined if the user named the service */
async function readGroup(admin: Admin, name: string, listed?: Webhook[]): Promise<Group> {
  try {
    return { name, webhooks: await toList(admin.service(name).list()), listing: 'listed' }
  } catch (error) {
    const isMissing = (error as Partial<AdminError>).code === 'admin_not_found'
    if (listed ? !isRefused(error) : !isMissing) throw error
    const all = listed ?? (await unlessRefused(() => toList(admin.list()))) ?? []
    const webhooks = all.filter(({ service }) => service === name)
    if (webhooks.length === 0) throw error
    return { name, webhooks, listing: isMissing ? 'missing' : 'refused' }
  }
}

/** The address of the services of a server, which is not that of their administration. */
const servicesOf = ({ url }: Admin): string => `${url.replace(/(?:\/rest)?\/admin$/, '')}/rest/services/`

function addressOf(admin: Admin, name: string): string {
  const [, path = '', type] = /^(.+)\.(\w+)$/.exec(name) ?? []
  return `${servicesOf(admin)}${path.split('/').map(encodeURIComponent).join('/')}/${type}`
}

const isOnOtherServer = (admin: Admin, serviceUrl: unknown): boolean =>
  typeof serviceUrl === 'string' && !serviceUrl.toLowerCase().startsWith(servicesOf(admin).toLowerCase())

/** Reads a page of a service; `'missing'` if the answer is 404, undefined if it cannot be read. */
async function readJson(
  { fetch, token, referer }: Connection,
  address: string,
): Promise<Json | 'missing' | undefined> {
  try {
    const text = typeof token === 'object' ? await token.getToken(address) : token
    const request = toRequest(text === undefined ? undefined : { f: 'json' }, text, referer)
    const url = new URL(text === undefined ? `${address}?f=json` : address)
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(TIMEOUT) })
    const answer = tryJson(await response.text())
    const error = isObject(answer) ? findError(answer, false) : undefined
    if (response.status === 404 || error?.code === 404) return 'missing'
    return response.ok && isObject(answer) && !error ? answer : undefined
  } catch {
    return undefined
  }
}

async function readEdits(
  { connection }: Examination,
  url: string,
): Promise<Pick<Traffic, 'edited' | 'isExact'>> {
  const page = await readJson(connection, `${url}/layers`)
  const { layers, tables } = isObject(page) ? page : {}
  const infos = [layers, tables].flat().flatMap((layer) => {
    return isObject(layer) && isObject(layer.editingInfo) ? [layer.editingInfo] : []
  })
  const newest = (name: string): number =>
    Math.max(0, ...infos.map((info) => Number(info[name])).filter((time) => time <= MAX_TIME))
  const exact = newest('dataLastEditDate')
  const time = exact || newest('lastEditDate')
  return { edited: time > 0 ? new Date(time) : undefined, isExact: exact > 0 }
}

/** Returns what arrived from a service. */
type Arrivals = (service: string) => Omit<Traffic, 'edited' | 'isExact'>

async function readArrivals(room: Examination): Promise<Arrivals | undefined> {
  if (room.options.health) return readHealth(room, room.options.health)
  return hasStore(room.io, room.options) ? readInbox(room) : undefined
}

/** The numbers of a receiver have no times, so that only two examinations show that nothing has arrived. */
async function readHealth(room: Examination, url: URL): Promise<Arrivals> {
  const signal = AbortSignal.timeout(TIMEOUT)
  const stats = await room.connection
    .fetch(url, { signal })
    .then(async (response) => tryJson(await response.text()))
    .catch(() => undefined)
  const outcomes = isObject(stats) && isObject(stats.outcomes) ? Object.values(stats.outcomes) : []
  const total = outcomes.reduce<number>((sum, value) => sum + Number(value), 0)
  if (outcomes.length === 0) room.received = undefined
  else if (room.received?.total !== total) room.received = { total, at: new Date() }
  const since = room.received?.at
  return () => ({ last: undefined, since, isReceiver: true })
}

const PAGE = 1_000
/** Maximum number of pages of an inbox to read, newest first. */
const PAGES = 20

function readInbox({ io, options }: Examination): Promise<Arrivals> {
  return withInbox(io, options, async (inbox) => {
    const last = new Map<string, Date>()
    let since: Date | undefined
    let after: string | undefined
    for (let page = 0; page < PAGES && (page === 0 || after !== undefined); page++) {
      const { entries, next } = await inbox.list({ order: 'newest', limit: PAGE, after })
      for (const { state, service = '', receivedAt, endedAt } of entries) {
        const name = nameOf(service)
        if (!last.has(name)) last.set(name, receivedAt)
        // Done deliveries are removed in the order in which they were done.
        if (state === 'done' && endedAt && (!since || endedAt < since)) since = endedAt
      }
      after = next
      const oldest = entries.at(-1)?.receivedAt
      if (next !== undefined && oldest && page === PAGES - 1 && since && since < oldest) since = oldest
    }
    return (name) => ({ last: last.get(name), since, isReceiver: false })
  })
}

/** The name of a service, such as `Parcels.FeatureServer`, from its URL. */
function nameOf(url: string): string {
  const start = url.indexOf('/services/')
  const segments = url.slice(start + '/services/'.length).split('/')
  const type = segments.pop()
  return start < 0 ? '' : decodePercent(`${segments.join('/')}.${type}`)
}

async function probe(
  { options, keys, connection }: Examination,
  webhook: Webhook,
  findings: Findings,
): Promise<void> {
  if (!options.probe) return
  const { hookUrl = '' } = webhook
  if (!URL.canParse(hookUrl)) {
    findings.notes.push('not probed, because the service does not show its payload URL')
    return
  }
  const url = new URL(hookUrl)
  if (options.probe === 'tls') await probeTls(url, connection.trust, findings)
  else if (options.origin?.includes(url.origin)) await probeHandshake(url, keys, connection.fetch, findings)
  else findings.notes.push('not probed, because its origin was not named with --origin')
}
