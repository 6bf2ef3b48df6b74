import { withCauses } from '#platform'
import { configInvalid, type WebhookError } from '../../errors.ts'
import { warn } from '../../receiver/observer.ts'
import { resyncRequired, showUrl } from '../errors.ts'
import { CHANGE_TYPE, createAnnouncement } from './announcement.ts'
import { type CatchUpParts, COPIES, copyService, HIGHEST, seenKey } from './copy-service.ts'
import type { CatchUpOptions } from './options.ts'
import { compareGenerations, highestOf, type SyncStatus, toGenerations } from './tracking.ts'

/** Reasons why a service must be copied. */
const CAUSES = {
  purged: 'it no longer keeps the changes after the last handled generation',
  reset: 'its generations are lower than before, so it was restored or replaced',
}

/** Maximum number of services that are polled at the same time. */
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
  const { services, every, resync, onError } = options
  const { generations } = inbox
  const stop = new AbortController()
  const { signal } = stop
  /** The current generations at the previous poll, by service. */
  const previous = new Map<string, ReadonlyMap<number, number>>()
  /** Id of the last delivery that was put into the inbox, by service. */
  const announced = new Map<string, string>()
  const reported = new Map<string, string>()

  async function check(service: string): Promise<void> {
    // Read before the request: another process may store the newer generations that it sees meanwhile.
    const marks = await generations.get(seenKey(service))
    const current = await track(service, signal)
    const handled = await generations.get(service)
    const seen = marks.get(HIGHEST)
    const status = compareGenerations(current, handled, seen)
    const before = previous.get(service)
    previous.set(service, toGenerations(current))
    // Only a copy stores this mark: deliveries can be handled before it, and polls without `resync` copy nothing.
    if (resync && !marks.has(COPIES)) await copy(service, 'unknown')
    else if (status.kind === 'behind') {
      if (!before || isOverdue(status, handled, before)) await announce(service, status, marks.get(COPIES))
    } else if (status.kind !== 'handled') await copy(service, status.kind)
    await generations.raise(seenKey(service), new Map([[HIGHEST, highestOf(current)]]))
  }

  async function announce(
    service: string,
    changes: SyncStatus & { kind: 'behind' },
    copies: number | undefined,
  ): Promise<void> {
    const last = announced.get(service)
    const { state } = (last !== undefined && (await inbox.get(last))) || {}
    if (state === 'waiting' || state === 'active') return // it covers the changes, or a later poll announces the rest
    const delivery = await createAnnouncement({ service, ...changes, copies })
    const result = await inbox.put(delivery)
    announced.set(service, delivery.id)
    if (result === 'duplicate') await requireExtracted(service, delivery.id, changes)
  }

  /** Throws if the delivery is done but no handler extracted its changes. Otherwise they would be lost silently. */
  async function requireExtracted(
    service: string,
    id: string,
    { layers, max }: SyncStatus & { kind: 'behind' },
  ): Promise<void> {
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
        `catchUp announces missed edits with the change type ${CHANGE_TYPE}, which has no handler, so they would be lost. Call receiver.on('${CHANGE_TYPE}', handler).`,
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

  async function checkAndReport(service: string): Promise<void> {
    try {
      await check(service)
      reported.delete(service)
    } catch (error) {
      if (!signal.aborted) report(service, error)
    }
  }

  function report(service: string, error: unknown): void {
    // What `resync` throws can be an object that throws when it is read.
    try {
      if (onError) Promise.resolve(onError(error, service)).catch(() => {})
      else warnOnce(service, error)
    } catch {}
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
      for (const service of remaining) if (!signal.aborted) await checkAndReport(service)
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

/**
 * True if changes that the previous poll saw have still not been handled. A delivery that announces newer ones may be
 * on its way.
 */
function isOverdue(
  { layers }: SyncStatus & { kind: 'behind' },
  handled: ReadonlyMap<number, number>,
  before: ReadonlyMap<number, number>,
): boolean {
  return layers.some((id) => (before.get(id) ?? -Infinity) > (handled.get(id) ?? -Infinity))
}
