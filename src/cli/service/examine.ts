import type { Admin, AdminError, Webhook } from '../../admin/index.ts'
import { findError, toRequest } from '../../shared/client.ts'
import { isObject, type Json, tryJson } from '../../shared/json.ts'
import { forEachConcurrently } from '../io/concurrently.ts'
import { toRecord } from '../io/files.ts'
import { hasStore, type StoreOptions, withInbox } from '../io/store.ts'
import type { KeyOptions } from '../options/secrets.ts'
import type { Io } from '../terminal/io.ts'
import type { AdminCliOptions, Connection } from './connect.ts'
import { findHandshakeProblem, probeTls } from './probe.ts'
import { type Arrivals, type Evidence, Findings, failuresInRow, judge } from './verdicts.ts'
import { toList, toShown, webhooksOf } from './webhooks.ts'

export interface DoctorOptions extends AdminCliOptions, KeyOptions, StoreOptions {
  strict?: true
  watch?: true
  health?: URL
  probe?: 'tls' | 'handshake'
  origin?: string[]
}

/** What an examination needs, and what it remembers for the next one. */
export interface Examination {
  io: Io
  options: DoctorOptions
  keys: readonly string[]
  admin: Admin
  connection: Connection
  seen: Map<string, NonNullable<Evidence['seen']>>
  /** The numbers of the receiver, and when an examination first saw them. */
  received?: { counts: string; at: Date } | undefined
}

/** What is printed about a webhook. */
export type Result = Json & Pick<Findings, 'verdict' | 'causes' | 'doubts'>

/** Maximum number of services that are examined at the same time. */
const CONCURRENCY = 4
/** Maximum milliseconds for a request. */
const TIMEOUT = 60_000

/** @param services names, or `portal`. Without any: that in the address, or all */
export async function examine(examination: Examination, services: readonly string[]): Promise<Result[]> {
  const { admin } = examination
  const only = admin.product === 'portal' ? 'portal' : admin.defaultService
  const given = services.length > 0 || only === undefined ? services : [only]
  const listed = given.length > 0 ? undefined : await toList(admin.list())
  const names = [...new Set(listed?.map(({ service }) => service) ?? given)]
  // For the webhooks of a portal, --url need not be given.
  const hasServer = names.some((name) => name !== 'portal')
  const settings = hasServer ? await orUndefined(() => admin.settings()) : undefined
  const arrivals = await readArrivals(examination, names)
  const results: Result[][] = []
  await forEachConcurrently(names.entries(), CONCURRENCY, async ([index, name]) => {
    const webhooks = listed?.filter(({ service }) => service === name)
    const known = { settings, arrivals: arrivals.get(name) }
    results[index] = await examineService(examination, name, webhooks, known)
  })
  return results.flat()
}

/** @param listed its webhooks in the list of the site; undefined if the user named the service */
async function examineService(
  examination: Examination,
  name: string,
  listed: Webhook[] | undefined,
  known: Pick<Evidence, 'settings' | 'arrivals'>,
): Promise<Result[]> {
  const { io, options, keys, admin, connection, seen } = examination
  const url = addressOf(admin, name)
  const page = name === 'portal' ? undefined : await readJson(connection, url)
  const { webhooks, leftover, doubt } = await readWebhooks(admin, name, listed, page)
  const layers = known.arrivals && toRecord(await readJson(connection, `${url}/layers`))
  const isShared = webhooks.filter(({ active }) => active !== false).length > 1
  const shared = { ...known, service: toRecord(page), layers, isShared, keys }
  const results: Result[] = []
  for (let webhook of webhooks) {
    let found = new Findings()
    if (leftover !== undefined) found.add('leftover', leftover)
    else if (doubt !== undefined) found.doubts.push(doubt)
    else {
      const { id, active } = webhook
      const past = seen.get(`${name} ${id}`)
      const deliveries = await orUndefined(() => webhooksOf(admin, name).failures(webhook))
      // The service may have deactivated it, and cleared its failures, between the two requests.
      if (active && past?.failures && deliveries?.length === 0)
        webhook = (await orUndefined(() => webhooksOf(admin, name).get(id))) ?? webhook
      const now = Date.now()
      found = judge({ ...shared, now, webhook, deliveries, seen: past })
      const { length } = failuresInRow(deliveries)
      if (webhook.active) seen.set(`${name} ${id}`, { at: new Date(now), failures: length })
    }
    await probe(examination, webhook, found)
    const [{ service, id, name: title, active, hookUrl } = {}] = await toShown(io, [webhook], options)
    const { verdict, causes, doubts } = found
    results.push({ service, id, name: title, active, hookUrl, verdict, causes, doubts })
  }
  return results
}

/** Reads the webhooks of a service. If only the site lists them, also says what this proves, or why nothing is known. */
async function readWebhooks(
  admin: Admin,
  name: string,
  listed: Webhook[] | undefined,
  page: Awaited<ReturnType<typeof readJson>>,
): Promise<{ webhooks: Webhook[]; leftover?: string; doubt?: string }> {
  const isElsewhere = ({ raw: { serviceUrl } }: Webhook): boolean =>
    typeof serviceUrl === 'string' && !serviceUrl.toLowerCase().startsWith(servicesOf(admin).toLowerCase())
  if (listed?.some(isElsewhere))
    return { webhooks: listed, doubt: 'its service is on another server, to which no request was sent' }
  try {
    return { webhooks: await toList(webhooksOf(admin, name).list()) }
  } catch (error) {
    const isMissing = (error as Partial<AdminError>).code === 'admin_not_found'
    if (listed ? !isRefused(error) : !isMissing) throw error
    const all = listed ?? (await orUndefined(() => toList(admin.list()))) ?? []
    const webhooks = all.filter(({ service }) => service === name)
    if (webhooks.length === 0) throw error
    if (!isMissing) return { webhooks, doubt: 'its service refuses to list its webhooks' }
    if (page === 'missing')
      return { webhooks, leftover: `the site lists the webhook, but its service ${name} does not exist` }
    const state = page ? 'exists' : 'cannot be read'
    return { webhooks, doubt: `its service ${state}, and returned 404 for its webhooks` }
  }
}

/** True for what a service refuses or lacks. Other errors concern every webhook. */
function isRefused(error: unknown): boolean {
  const { code = '', serviceCode } = error as Partial<AdminError>
  if (code === 'admin_unavailable') return serviceCode !== undefined
  // config_invalid: the site lists a service with a name of another form.
  return /^(?:admin_(?:forbidden|not_found|refused|unsupported|malformed)|config_invalid)$/.test(code)
}

/** Reads what a service may refuse or lack. */
export async function orUndefined<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isRefused(error)) return undefined
    throw error
  }
}

/** The address of the services of a server, which is not that of their administration. */
const servicesOf = ({ url }: Admin): string => `${url.replace(/(?:\/rest)?\/admin$/, '')}/rest/services/`

function addressOf(admin: Admin, name: string): string {
  const [, path = '', type] = /^(.+)\.(\w+)$/.exec(name) ?? []
  return `${servicesOf(admin)}${path.split('/').map(encodeURIComponent).join('/')}/${type}`
}

/** Reads a page of a service; `'missing'` if the response is 404, undefined if it cannot be read. */
async function readJson(
  { fetch, token, referer }: Connection,
  address: string,
): Promise<Json | 'missing' | undefined> {
  try {
    const text = typeof token === 'object' ? await token.getToken(address) : token
    const request = toRequest({ f: 'json' }, text, referer)
    const response = await fetch(new URL(address), { ...request, signal: AbortSignal.timeout(TIMEOUT) })
    const answer = tryJson(await response.text())
    const error = isObject(answer) ? findError(answer, false) : undefined
    if (response.status === 404 || error?.code === 404) return 'missing'
    return response.ok && isObject(answer) && !error ? answer : undefined
  } catch {
    return undefined
  }
}

/** Reads what has arrived from each feature service. Empty without a receiver and without an inbox. */
async function readArrivals(
  examination: Examination,
  names: readonly string[],
): Promise<Map<string, Arrivals>> {
  const { io, options, admin } = examination
  const services = names.filter((name) => name.endsWith('.FeatureServer'))
  if (options.health) {
    const since = await readHealth(examination, options.health)
    return new Map(services.map((name) => [name, { since, isReceiver: true }]))
  }
  const arrivals = new Map<string, Arrivals>()
  if (hasStore(io, options))
    await withInbox(io, options, async (inbox) => {
      // Done deliveries are removed in the order in which they were done.
      const { entries } = await inbox.list({ state: 'done', limit: 1 })
      for (const name of services) {
        const newest = await inbox.list({ service: addressOf(admin, name), order: 'newest', limit: 1 })
        const last = newest.entries[0]?.receivedAt
        arrivals.set(name, { last, since: entries[0]?.endedAt, isReceiver: false })
      }
    })
  return arrivals
}

/** The counts of a receiver have no times, so that only two examinations show that nothing has arrived. */
async function readHealth(examination: Examination, url: URL): Promise<Date | undefined> {
  const stats = await examination.connection
    .fetch(url, { signal: AbortSignal.timeout(TIMEOUT) })
    .then(async (response) => tryJson(await response.text()))
    .catch(() => undefined)
  // Another process behind the address, or a restart, is not silence.
  const counts = isObject(stats) ? JSON.stringify([stats.instance, stats.outcomes]) : undefined
  if (counts === undefined) examination.received = undefined
  else if (examination.received?.counts !== counts) examination.received = { counts, at: new Date() }
  return examination.received?.at
}

async function probe(
  { options, keys, connection }: Examination,
  webhook: Webhook,
  found: Findings,
): Promise<void> {
  const { hookUrl = '' } = webhook
  if (!options.probe) return
  if (!URL.canParse(hookUrl))
    found.doubts.push('not probed, because the service does not show its payload URL')
  else {
    const url = new URL(hookUrl)
    if (options.probe === 'handshake' && options.origin?.includes(url.origin)) {
      const problem = await findHandshakeProblem(url, keys, connection.fetch)
      const evidence = `seen from this machine, ${url.host} ${problem}`
      // Another machine may reach it.
      if (problem?.startsWith('does not respond')) found.doubts.push(evidence)
      else if (problem) found.add('handshake', evidence)
    }
    if (options.probe === 'tls' && url.protocol === 'https:') await probeTls(url, connection.trust, found)
  }
}
