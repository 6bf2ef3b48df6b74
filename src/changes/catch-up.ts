import { sha256, withCauses } from '#runtime'
import { configInvalid, type WebhookError } from '../errors.ts'
import { locksOf } from '../inbox/service-locks.ts'
import { writeChangesUrl } from '../payload/changes-url.ts'
import { CAUGHT_UP } from '../receiver/delivery.ts'
import { warn } from '../receiver/log.ts'
import type { Delivery } from '../receiver/types.ts'
import { utf8 } from '../shared/bytes.ts'
import { showUrl } from '../shared/client.ts'
import { decodePercent } from '../shared/url-secrets.ts'
import { resyncRequired } from './errors.ts'
import type { CatchUpOptions, ChangesInbox } from './options.ts'
import type { CopyService, ResyncContext } from './types.ts'

const CAUSES = {
  purged: 'it no longer keeps the changes after the last handled generation',
  reset: 'its generations are lower than before, so it was restored or replaced',
}

const MAX_POLLED = 8

/** The running catch-up of {@link ChangesClient.catchUp}. */
export interface CatchUp {
  /** Polls all services now, or once the poll in progress has ended. Resolves after the last service; never rejects. */
  poll(): Promise<void>
  /** Stops polling, aborts requests in flight, and resolves when the poll in progress has ended. */
  close(): Promise<void>
}

/**
 * Polls the current generations of services, at the start and at intervals, and puts a delivery into the inbox for
 * changes that no delivery announced.
 */
export function startCatchUp(parts: CatchUpParts, options: CatchUpOptions): CatchUp {
  const { inbox, track } = parts
  const { services, every, resync, onCaughtUp, onError } = options
  const { generations } = inbox
  const stop = new AbortController()
  const { signal } = stop
  /** The current generations at the previous poll, by service. */
  const previous = new Map<string, ReadonlyMap<number, number>>()
  /** Id of the last delivery that was put into the inbox, by service. */
  const announced = new Map<string, string>()
  const reported = new Map<string, string>()
  /** The services for which `onCaughtUp` was called, and that have not missed changes, been copied or failed since. */
  const caughtUp = new Set<string>()

  async function check(service: string): Promise<void> {
    const before = previous.get(service)
    let current = await compare(service)
    const { marks, handled, status } = current
    let isMissing = false
    if (status.kind === 'behind') {
      isMissing = !before || isOverdue(status, handled, before)
      if (isMissing) await announce(service, status, marks.get(COPIES))
    } else if (status.kind !== 'handled') {
      caughtUp.delete(service)
      await copy(service, status.kind)
      // Edits during the copy are missing until they have been handled.
      current = await compare(service)
      isMissing = current.status.kind !== 'handled'
    }
    await generations.raise(seenKey(service), new Map([[HIGHEST, highestOf(current.layers)]]))
    if (isMissing) caughtUp.delete(service)
    else announceCaughtUp(service)
  }

  async function compare(service: string) {
    // Read before the request: another process may store the newer generations that it sees meanwhile.
    const marks = await generations.get(seenKey(service))
    const layers = await track(service, signal)
    const handled = await generations.get(service)
    previous.set(service, toGenerations(layers))
    // Only a copy stores this mark: deliveries can be handled before it, and polls without `resync` copy nothing.
    const status: SyncStatus =
      resync && !marks.has(COPIES)
        ? { kind: 'unknown' }
        : compareGenerations(layers, handled, marks.get(HIGHEST))
    return { marks, layers, handled, status }
  }

  function announceCaughtUp(service: string): void {
    if (caughtUp.has(service) || signal.aborted) return
    caughtUp.add(service)
    callSafely(() => onCaughtUp?.(service))
  }

  async function announce(service: string, changes: Behind, copies: number | undefined): Promise<void> {
    const last = announced.get(service)
    const { state } = (last !== undefined && (await inbox.get(last))) || {}
    // It covers the changes, or a later poll announces the rest.
    if (state === 'waiting' || state === 'active' || state === 'unhandled') return
    const delivery = await createAnnouncement(service, changes, copies)
    const result = await inbox.put(delivery)
    announced.set(service, delivery.id)
    if (result === 'duplicate') await requireExtracted(service, delivery.id, changes)
  }

  /** Throws if the delivery is done but no handler extracted its changes. Otherwise they would be lost silently. */
  async function requireExtracted(service: string, id: string, { layers, max }: Behind): Promise<void> {
    const item = await inbox.get(id)
    // Read the generations after the state, because they are stored before a delivery becomes done.
    const handled = await generations.get(service)
    const isBehind = layers.every((layer) => (handled.get(layer) ?? -Infinity) < max)
    if (item?.state !== 'done' || !isBehind) return
    throw configInvalid(
      `the missed edits of ${showUrl(service)} up to generation ${max} were not handled: their delivery is done, but no handler of ${CHANGE_TYPE} extracted them`,
      `Register a handler with receiver.on('${CHANGE_TYPE}', handler) that calls changes.of(event, context). Then call inbox.purge({ state: 'done' }), so that the next poll announces the edits again.`,
    )
  }

  let isChecked = false

  /** Warns once if the workers of this process have no handler for announcements. */
  function checkHandlers(): void {
    const isHandled = inbox.handles?.(CHANGE_TYPE)
    if (isHandled === false && !isChecked)
      warn(
        `catchUp announces missed edits with the change type ${CHANGE_TYPE}, which has no handler. Call receiver.on('${CHANGE_TYPE}', handler).`,
        'change_type_unhandled',
      )
    isChecked ||= isHandled !== undefined
  }

  /** Copies a service. Without `resync`, only stores its current generations, where later changes begin. */
  async function copy(service: string, kind: 'unknown' | 'purged' | 'reset'): Promise<void> {
    const reason = kind === 'unknown' ? 'first_start' : kind
    if (!resync && reason !== 'first_start')
      throw resyncRequired(`${showUrl(service)} has to be copied again: ${CAUSES[reason]}`)
    await copyService(parts, service, { reason, signal }, resync)
  }

  function report(service: string, error: unknown): void {
    caughtUp.delete(service)
    // What `resync` throws can be an object that throws when it is read.
    callSafely(() => (onError ? onError(error, service) : warnOnce(service, error)))
  }

  function warnOnce(service: string, error: unknown): void {
    const given = Object(error) as Partial<WebhookError>
    // What `resync` throws can have members of any type.
    const code = typeof given.code === 'string' ? given.code : 'catch_up_failed'
    const message = withCauses(error, typeof given.message === 'string' ? given.message : String(error))
    if (reported.get(service) !== code) warn(`catchUp of ${showUrl(service)}: ${message}`, code)
    reported.set(service, code)
  }

  async function pollAll(): Promise<void> {
    const remaining = services.values()
    checkHandlers()
    const workers = Array.from({ length: MAX_POLLED }, async () => {
      for (const service of remaining) {
        if (signal.aborted) return
        const forget = (): unknown => reported.delete(service)
        await check(service).then(forget, (error) => signal.aborted || report(service, error))
      }
    })
    await Promise.all(workers)
  }

  let timer: ReturnType<typeof setTimeout> | undefined
  let polling = Promise.resolve()

  function poll(): Promise<void> {
    clearTimeout(timer)
    polling = polling.then(pollAll).then(() => {
      clearTimeout(timer)
      if (every !== undefined && !signal.aborted) timer = setTimeout(poll, every)
    })
    return polling
  }

  void poll()
  return {
    poll,
    async close() {
      stop.abort(new Error('catchUp was closed'))
      clearTimeout(timer)
      await polling
    },
  }
}

/** Calls a function of the user, and ignores its errors. */
function callSafely(call: () => unknown): void {
  try {
    Promise.resolve(call()).catch(() => {})
  } catch {}
}

/**
 * True if changes that the previous poll saw have still not been handled. A delivery that announces newer ones may be
 * on its way.
 */
function isOverdue(
  { layers }: Behind,
  handled: ReadonlyMap<number, number>,
  before: ReadonlyMap<number, number>,
): boolean {
  return layers.some((id) => (before.get(id) ?? -Infinity) > (handled.get(id) ?? -Infinity))
}

/** The change type of announcements, which do not say which kinds of edits there are. */
const CHANGE_TYPE = 'FeaturesEdited'

/**
 * Creates the delivery that announces missed changes to the handlers: a payload in the service dialect, as the service
 * itself would have sent it. The same changes always have the same id, so that an inbox stores them once, even if
 * several processes find them.
 *
 * @param copies number of copies of the service so far: after a restore, other changes can have the same generations
 */
async function createAnnouncement(
  service: string,
  { layers, min, max }: Behind,
  copies = 0,
): Promise<Delivery> {
  const changesUrl = writeChangesUrl({ service, window: { min, max }, layers, parameters: new Map() })
  const receivedAt = new Date()
  const raw = { eventType: CHANGE_TYPE, when: receivedAt.getTime() }
  const names = { serviceType: 'FeatureServer', ...nameOf(service) }
  const payload = { ...names, changesUrl, events: [raw] }
  return {
    id: await idOf(`${copies} ${changesUrl}`),
    rawBody: utf8(JSON.stringify(payload)),
    contentType: 'application/json',
    headers: {},
    receivedAt,
    profile: CAUGHT_UP,
    payload,
    changeTypes: [CHANGE_TYPE],
    events: [{ changeType: CHANGE_TYPE, when: receivedAt, webhook: {}, service: names, changesUrl, raw }],
  }
}

/** Reads folder and name from a URL like `…/rest/services/[folder/]name/FeatureServer`. */
function nameOf(service: string): { folderName: string; serviceName: string } {
  const path = new URL(service).pathname.split('/').map(decodePercent)
  const names = path.slice(path.lastIndexOf('services') + 1, -1)
  return { folderName: names.slice(0, -1).join('/'), serviceName: names.at(-1) ?? '' }
}

/** Like the id of every delivery: 32 hex digits. */
async function idOf(changes: string): Promise<string> {
  const hash = await sha256(utf8(`${CAUGHT_UP} ${changes}`))
  return hash.slice(0, 32)
}

/** The generations that a service tracks for one layer, from its `changeTrackingInfo`. */
export interface LayerTracking {
  id: number
  /** The oldest generation whose later changes are still kept. */
  minServerGen: number
  serverGen: number
}

/** Changes of these layers, after `min` up to `max`, have not been handled. */
interface Behind {
  kind: 'behind'
  layers: number[]
  min: number
  max: number
}

/** How the current generations of a service compare with the handled ones. */
type SyncStatus =
  | { kind: 'handled' }
  | Behind
  /** Nothing has been stored for the service yet. */
  | { kind: 'unknown' }
  /** The service no longer keeps the changes after the last handled generation. */
  | { kind: 'purged' }
  /** The service counts from a lower generation than before: it was restored or replaced. */
  | { kind: 'reset' }

/**
 * Compares the current generations of a service with the handled ones.
 *
 * @param handled the last handled generation of each layer
 * @param seen the highest generation that the service has ever reported
 */
function compareGenerations(
  current: readonly LayerTracking[],
  handled: ReadonlyMap<number, number>,
  seen: number | undefined,
): SyncStatus {
  if (handled.size === 0) return { kind: 'unknown' }
  if (seen !== undefined && highestOf(current) < seen) return { kind: 'reset' }
  // A layer without a stored generation is newer than the others: all of its changes count.
  const behind = current.flatMap(({ id, minServerGen, serverGen }) => {
    const last = handled.get(id) ?? minServerGen
    return last < serverGen ? { id, last, minServerGen, serverGen } : []
  })
  if (behind.some(({ last, minServerGen }) => last < minServerGen)) return { kind: 'purged' }
  if (behind.length === 0) return { kind: 'handled' }
  return {
    kind: 'behind',
    layers: behind.map(({ id }) => id),
    min: behind.reduce((least, { last }) => Math.min(least, last), Infinity),
    max: highestOf(behind),
  }
}

/** The highest current generation, or -Infinity without layers. */
export const highestOf = (layers: readonly { serverGen: number }[]): number =>
  layers.reduce((most, { serverGen }) => Math.max(most, serverGen), -Infinity)

const toGenerations = (current: readonly LayerTracking[]): Map<number, number> =>
  new Map(current.map(({ id, serverGen }) => [id, serverGen]))

export interface CatchUpParts {
  inbox: ChangesInbox
  /** Requests the current generations of the layers of a service, at least one. @throws {WebhookError} */
  track(service: string, signal: AbortSignal): Promise<readonly LayerTracking[]>
}

/** Copies a service, while no handler of this process has its changes. */
export async function copyService(
  parts: CatchUpParts,
  service: string,
  context: ResyncContext,
  copy: CopyService | undefined,
): Promise<void> {
  const run = () => copyNow(parts, service, context, copy)
  await (copy ? locksOf(parts.inbox.generations).copy(service, context.signal, run) : run())
}

/** Copies a service, and stores the generations from before the copy, so that edits during the copy are handled too. */
async function copyNow(
  { inbox: { generations }, track }: CatchUpParts,
  service: string,
  context: ResyncContext,
  copy: CopyService | undefined,
): Promise<void> {
  const current = await track(service, context.signal)
  await copy?.(service, context)
  context.signal.throwIfAborted()
  // The highest generation comes last: if it is not stored, the next poll finds that the service must be copied.
  await generations.replace(service, toGenerations(current))
  const copies = (await generations.get(seenKey(service))).get(COPIES) ?? 0
  const highest = highestOf(current)
  const marks = new Map([[HIGHEST, highest]])
  if (copy) marks.set(COPIES, copies + 1).set(COPIED, highest)
  await generations.replace(seenKey(service), marks)
}

/**
 * Returns the name under which three marks of a service are stored in the generations, {@link HIGHEST},
 * {@link COPIES} and {@link COPIED}, as if they were layers.
 */
export const seenKey = (service: string): string => `${service}#seen`

/** The highest generation that the service has ever reported. */
export const HIGHEST = 0

/** The number of copies. Missing before the first copy. */
const COPIES = 1

/** The highest generation before the last copy. Handlers need no earlier changes. */
export const COPIED = 2
