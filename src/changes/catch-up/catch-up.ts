import type { WebhookError } from '../../errors.ts'
import { warn } from '../../receiver/log.ts'
import { resyncRequired, showUrl } from '../errors.ts'
import { createAnnouncement } from './announcement.ts'
import { type CatchUpParts, copyService, seenKey } from './copy-service.ts'
import type { CatchUpOptions } from './options.ts'
import { compareGenerations, highestOf, type Standing, toGenerations } from './tracking.ts'

/** Why a service has to be copied. */
const CAUSES = {
  purged: 'it no longer keeps the changes after the last handled generation',
  reset: 'its generations are lower than before, so it was restored or replaced',
}

/** Maximum number of services that are asked at the same time. */
const MAX_ASKED = 8

/** The running catch-up of {@link ChangesClient.catchUp}. */
export interface CatchUp {
  /** Asks all services now, after a poll in progress has ended. Resolves when all of them have been asked. */
  poll(): Promise<void>
  /** Stops polling, and resolves when the poll in progress has ended. */
  close(): Promise<void>
}

/**
 * Asks services for their current generations, at the start and at intervals, and puts a delivery into the inbox for
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
    const current = await track(service, signal)
    const handled = await generations.get(service)
    const seen = (await generations.get(seenKey(service))).get(0)
    const standing = compareGenerations(current, handled, seen)
    const before = previous.get(service)
    previous.set(service, toGenerations(current))
    // A delivery can be handled before the first copy, but only a poll after it stores the highest generation.
    if (resync && seen === undefined) await copy(service, 'unknown')
    else if (standing.kind === 'behind') {
      if (!before || isOverdue(standing, handled, before)) await announce(service, standing)
    } else if (standing.kind !== 'handled') await copy(service, standing.kind)
    await generations.raise(seenKey(service), new Map([[0, highestOf(current)]]))
  }

  async function announce(service: string, changes: Standing & { kind: 'behind' }): Promise<void> {
    const last = announced.get(service)
    const { state } = (last !== undefined && (await inbox.get(last))) || {}
    if (state === 'waiting' || state === 'active') return // covers the changes, or the next poll announces the rest
    const delivery = await createAnnouncement({ service, ...changes })
    await inbox.put(delivery)
    announced.set(service, delivery.id)
  }

  /** Copies a service, or begins with its current generations if nothing is to be copied. */
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
    const { code = 'catch_up_failed', message = String(error) } = Object(error) as Partial<WebhookError>
    if (reported.get(service) !== code) warn(`catchUp of ${showUrl(service)}: ${message}`, code)
    reported.set(service, code)
  }

  async function pollAll(): Promise<void> {
    const left = services.values()
    const lanes = Array.from({ length: MAX_ASKED }, async () => {
      for (const service of left) if (!signal.aborted) await checkAndReport(service)
    })
    await Promise.all(lanes)
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
 * True if changes that the previous poll saw still have not been handled. Newer ones may be announced by a delivery
 * that is on its way.
 */
function isOverdue(
  { layers }: Standing & { kind: 'behind' },
  handled: ReadonlyMap<number, number>,
  before: ReadonlyMap<number, number>,
): boolean {
  return layers.some((id) => (before.get(id) ?? -Infinity) > (handled.get(id) ?? -Infinity))
}
