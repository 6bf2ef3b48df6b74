import type { StoredDelivery } from '../receiver/delivery.ts'
import { backoff } from './backoff.ts'
import { createCallQueue, type QueuedDelivery } from './call-queue.ts'
import type { DeliveryHandler } from './durable-inbox.ts'
import type { DeliveriesTable, EndedAttempt, TakenDelivery } from './engine-port.ts'
import { toErrorText } from './error-text.ts'
import type { InboxConfig } from './inbox-options.ts'
import type { WorkConfig } from './method-options.ts'
import { runAttempt } from './run-attempt.ts'

/** Milliseconds until recordEnds() retries after an error of the store. */
const RECORD_RETRY_DELAY = 250

/** Dependencies of {@link createTableAttempts}. */
export interface TableAttemptsOptions {
  table: DeliveriesTable
  receiver: DeliveryHandler
  work: WorkConfig
  config: InboxConfig
  clock: () => number
  /** Ids of the deliveries that any worker of the inbox is handling. */
  inProgress: Set<string>
  /** The owner of the leases. */
  owner: string
  /** Called when there may be room for another delivery. */
  onEnd(): void
}

/** The attempts in progress, from when a worker has taken a delivery until the end of the attempt is recorded. */
export interface TableAttempts {
  /** True if another delivery can be taken. */
  hasRoom(): boolean
  /** @param freeSlot called when the attempt has ended */
  begin(taken: TakenDelivery, freeSlot?: () => void): void
  /** Renews all leases, and stops the attempts whose leases are lost. */
  renew(): Promise<void>
  /** Begins all attempts that still wait for others, and resolves when all attempts have ended. */
  close(): Promise<void>
}

interface Attempt extends QueuedDelivery {
  taken: TakenDelivery
  /** Set as soon as the handlers are called. */
  call?: { members: readonly Attempt[]; stop: AbortController }
  /** Set if another process has taken the delivery. */
  lost?: Error
  ended: Promise<void>
  end(): void
}

export function createTableAttempts(options: TableAttemptsOptions): TableAttempts {
  const { table, receiver, work, config, clock, inProgress, owner, onEnd } = options
  const { lease, timeout, notify } = config
  const attempts = new Map<string, Attempt>()
  let closed = false
  const calls = createCallQueue<Attempt>({ ...work, run, onEnd })

  /** Runs the handlers for deliveries, and records how that ended. */
  async function run(members: readonly Attempt[]): Promise<void> {
    const stop = new AbortController()
    for (const member of members) member.call = { members, stop }
    const started = performance.now()
    const event = ({ taken }: Attempt) => ({ ...toEvent(taken), milliseconds: performance.now() - started })
    try {
      const results = await handle(members, stop.signal)
      const recorded = await recordEnds(members, () => ({ state: 'done' }))
      for (const [index, member] of members.entries()) {
        const { lost } = member
        if (lost && !recorded.has(member)) notify('failed', { ...event(member), error: lost })
        else notify(results[index] ?? 'handled', event(member))
      }
    } catch (error) {
      const text = toErrorText(error)
      const recorded = await recordEnds(members, (member) =>
        isLast(member)
          ? { state: 'dead', error: text }
          : { state: 'waiting', error: text, delay: backoff(member.taken.attempt, config) },
      )
      for (const member of members) {
        const lost = recorded.has(member) ? undefined : member.lost
        notify(!lost && isLast(member) ? 'dead' : 'failed', { ...event(member), error: lost ?? error })
      }
    } finally {
      for (const member of members) member.end()
    }
  }

  async function handle(members: readonly Attempt[], stop: AbortSignal) {
    const [{ attempt = 1, attempts: maxAttempts = config.attempts } = {}] = members.map(({ taken }) => taken)
    // A process exited during the last allowed attempt. Do not start another attempt, because the handlers may
    // terminate this process too.
    if (attempt > maxAttempts) throw new Error('its process ended during the last attempt')
    const deliveries = members.map(({ delivery }) => delivery)
    return runAttempt(receiver, deliveries, { attempt, timeout, stop, isTogether: work.wait !== undefined })
  }

  const isLast = ({ taken: { attempt, attempts: maxAttempts = config.attempts } }: Attempt): boolean =>
    attempt >= maxAttempts

  /**
   * Records the ends of the attempts that are not lost, and retries while the store fails: without a recorded success,
   * the deliveries would be handled again. Resolves with the attempts whose ends are recorded. A heartbeat at the same
   * time may report these as lost, because they have no lease any more.
   */
  async function recordEnds(
    members: readonly Attempt[],
    toEnd: (member: Attempt) => EndedAttempt['end'],
  ): Promise<Set<Attempt>> {
    const held = members.filter(({ lost }) => !lost)
    if (held.length === 0) return new Set()
    const ends = held.map((member) => ({ id: member.delivery.id, end: toEnd(member) }))
    const endedAt = clock()
    for (;;) {
      try {
        const ids = new Set(await table.endAttempts(owner, ends))
        return new Set(held.filter(({ delivery }) => ids.has(delivery.id)))
      } catch (error) {
        notify('trouble', { error })
        if (closed && clock() - endedAt > lease) return new Set()
        await new Promise((resolve) => setTimeout(resolve, RECORD_RETRY_DELAY))
      }
    }
  }

  /** Stops an attempt, unless its call also handles deliveries that are not lost. */
  function lose(attempt: Attempt): void {
    const lost = new Error('another process has taken the delivery over')
    attempt.lost = lost
    if (attempt.call?.members.every((member) => member.lost)) attempt.call.stop.abort(lost)
    if (attempt.call || !calls.remove(attempt)) return
    notify('failed', { ...toEvent(attempt.taken), milliseconds: 0, error: lost })
    attempt.end()
    onEnd()
  }

  return {
    hasRoom: calls.hasRoom,

    begin(taken, freeSlot) {
      const { delivery, attempt, isSuspect } = taken
      let resolveEnded = () => {}
      const ended = new Promise<void>((resolve) => {
        resolveEnded = resolve
      })
      const end = () => {
        attempts.delete(delivery.id)
        inProgress.delete(delivery.id)
        freeSlot?.()
        resolveEnded()
      }
      const begun: Attempt = { taken, delivery, isAlone: isSuspect || attempt > 1, ended, end }
      attempts.set(delivery.id, begun)
      inProgress.add(delivery.id)
      calls.add(begun)
    },

    async renew() {
      if (attempts.size === 0) return
      try {
        const asked = [...attempts]
        const kept = new Set(await table.renew(owner, [...attempts.keys()], lease))
        // Skip a delivery if its attempt ended and a new attempt began during the call, because the call did not renew
        // the new attempt.
        for (const [id, attempt] of asked) if (!kept.has(id) && attempts.get(id) === attempt) lose(attempt)
      } catch (error) {
        notify('trouble', { error })
      }
    },

    async close() {
      closed = true
      calls.flush()
      await Promise.all([...attempts.values()].map(({ ended }) => ended))
    },
  }
}

const toEvent = ({ delivery, attempt }: TakenDelivery): { delivery: StoredDelivery; attempt: number } => ({
  delivery,
  attempt,
})
