import { isPermanent, requestedDelay } from '../receiver/failures.ts'
import { ENTER, type EnterAttempt, receiverPort } from '../receiver/port.ts'
import type { HandlerOptions } from '../receiver/types.ts'
import { createBatches } from './batches.ts'
import { type CallQueue, createCallQueue, type QueuedDelivery } from './call-queue.ts'
import type { DeliveryHandler } from './durable-inbox.ts'
import { type DeliveriesTable, type EndedAttempt, type TakenDelivery, taskName } from './engine-port.ts'
import { toErrorText } from './error-text.ts'
import type { Handover } from './handover.ts'
import type { InboxConfig } from './inbox-options.ts'
import type { WorkConfig } from './method-options.ts'
import { runAttempt } from './run-attempt.ts'
import { addError } from './stored-row.ts'

export interface TableAttemptsOptions {
  table: DeliveriesTable
  receiver: DeliveryHandler
  /** Runs before the handlers. */
  enter: EnterAttempt
  work: WorkConfig
  config: InboxConfig
  clock: () => number
  /** Names of the tasks that any worker of the inbox is handling. */
  inProgress: Set<string>
  /** The owner of the leases. */
  owner: string
  handover: Handover
  /** Called when there may be room for another delivery. */
  onEnd(): void
}

/** Why an attempt ends nothing: its lease has expired, and its delivery was taken again. */
const LOST = 'another process has taken the delivery over'

/** Maximum number of calls whose ends are recorded at once. */
const MAX_RECORDED = 100

/** Milliseconds until a failed call of the store is retried. */
const RETRY_DELAY = 250

/** An estimate of the size of the errors of a failed attempt in bytes. */
const MAX_ERROR_BYTES = 4_000

/** The attempts in progress, from when a worker has taken a delivery until the end of the attempt is recorded. */
export interface TableAttempts {
  /** The number of deliveries, and the bytes of their bodies, that can be taken now for the handlers of a name. */
  room(handler: string): { limit: number; maxBytes: number }
  maxAttempts(handler: string): number
  /**
   * @param heldAt when the lease began
   * @param leave called when the attempt has ended
   */
  begin(taken: TakenDelivery, heldAt: number, leave: () => void): void
  /** Renews all leases, and stops the attempts whose leases are lost. */
  renew(): Promise<void>
  /** Begins all attempts that still wait for others, and resolves when all attempts have ended. */
  close(): Promise<void>
}

export function createTableAttempts(options: TableAttemptsOptions): TableAttempts {
  const { table, receiver, enter, work, config, clock, inProgress, owner, handover, onEnd } = options
  const { lease, notify } = config
  const attempts = new Map<string, Attempt>()
  let closed = false
  /** The calls of handlers without a concurrency of their own, and those of the others by name. */
  const shared = createCallQueue<Attempt>({ work, run, onEnd })
  const own = new Map<string, CallQueue<Attempt>>()

  function callsOf(handler: string): CallQueue<Attempt> {
    const { concurrency } = optionsOf(handler)
    if (concurrency === undefined) return shared
    const calls = own.get(handler) ?? createCallQueue<Attempt>({ work: { ...work, concurrency }, run, onEnd })
    own.set(handler, calls)
    return calls
  }

  const optionsOf = (handler: string): Omit<HandlerOptions, 'name'> =>
    receiverPort(receiver)?.fates.get(handler) ?? {}

  const maxAttempts = (handler: string): number => optionsOf(handler).attempts ?? config.attempts

  /** Calls the store until it succeeds. Resolves with undefined if the inbox is closed and the store keeps failing. */
  async function retryStore<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
    const started = clock()
    for (;;) {
      try {
        return await call()
      } catch (error) {
        notify('trouble', { error })
        if (closed && clock() - started > lease) return undefined
        await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY))
      }
    }
  }

  /** An attempt that does not run, because the last one was interrupted, has the number of the last one. */
  const toEvent = ({ handler, taken: { delivery, attempt } }: Attempt) => ({
    delivery,
    ...(handler !== '' && { handler }),
    attempt: Math.min(attempt, maxAttempts(handler)),
  })

  /** Records the ends of a call's attempts, together with the ends of other calls. Retries while the store fails. */
  const record = createBatches<readonly EndedAttempt[], readonly boolean[] | undefined>(
    { items: MAX_RECORDED, inFlight: 1 },
    async (calls) => {
      const recorded = await retryStore(() =>
        table.endAttempts(owner, calls.flat(), work.order !== undefined),
      )
      return calls.map((ends) => recorded?.splice(0, ends.length))
    },
  )

  /** Runs the handlers for deliveries, and records how that ended. */
  async function run(begun: readonly Attempt[]): Promise<void> {
    // Wait only if necessary, because this delays the handlers.
    const held = begun.some(({ heldAt }) => ageOf(heldAt) > lease / 2) ? await keepHeld(begun) : begun
    const members = await giveBack(held)
    if (members.length === 0 || !(await startAlone(members))) return
    const stop = new AbortController()
    for (const member of members) member.call = { members, stop }
    const started = performance.now()
    const event = (attempt: Attempt) => ({ ...toEvent(attempt), milliseconds: performance.now() - started })
    try {
      const results = await handle(members, stop.signal)
      const unhandled = new Set(members.filter((_, index) => results[index] === 'unhandled'))
      const isKept = (member: Attempt) => config.unhandled === 'keep' && unhandled.has(member)
      const errors = await recordEnds(members, (member) =>
        isKept(member) ? toUnhandled(member) : { state: 'done' },
      )
      for (const member of members) {
        const error = errors.get(member)
        if (isKept(member)) handover.decline(member.taken)
        if (error) notify('failed', { ...event(member), error })
        else notify(unhandled.has(member) ? 'unhandled' : 'handled', event(member))
      }
    } catch (error) {
      const failed = { error: toErrorText(error), at: new Date(clock()) }
      const requested = requestedDelay(error, clock())
      // In a group, the error may be about another delivery.
      const isFinal = members.length === 1 && isPermanent(error)
      const isDead = (member: Attempt) => !isForeign(member) && (isFinal || isLast(member))
      const errors = await recordEnds(members, (member) => {
        if (isForeign(member)) return toUnhandled(member)
        const { attempt } = toEvent(member)
        const errors = addError(member.taken.errors, { ...failed, attempt })
        if (isDead(member)) return { state: 'dead', errors }
        return { state: 'waiting', errors, delay: retryDelayOf(attempt, requested, config) }
      })
      for (const member of members) {
        const lost = errors.get(member)
        notify(!lost && isDead(member) ? 'dead' : 'failed', {
          ...event(member),
          error: lost ?? error,
        })
      }
    } finally {
      for (const member of members) member.end()
    }
  }

  /** Gives back the deliveries for which another worker has more handlers. Returns the others. */
  async function giveBack(members: readonly Attempt[]): Promise<readonly Attempt[]> {
    const tasks = members.map((member) =>
      isOver(member) ? { ...member.taken, changeTypes: [] } : member.taken,
    )
    const areOthers = await retryStore(() => handover.areOthers(tasks))
    const given = members.filter((_, index) => areOthers?.[index])
    if (given.length === 0) return members
    const [suspect] = given.filter(({ taken }) => taken.isSuspect)
    if (suspect) await retryStore(() => handover.leave(suspect.taken))
    const errors = suspect ? new Map<Attempt, Error>() : await recordEnds(given, toUnhandled)
    for (const member of given) {
      const error = errors.get(member)
      if (error) endUnstarted(member, error)
      else member.end()
    }
    return members.filter((member) => !given.includes(member))
  }

  /** Records that the attempt of a suspect begins. Returns false if another process has taken it. */
  async function startAlone(members: readonly Attempt[]): Promise<boolean> {
    const [suspect] = members.filter(({ taken }) => taken.isSuspect)
    if (!suspect) return true
    if (await retryStore(() => table.startAlone(owner, suspect.taken, lease))) return true
    endUnstarted(suspect, new Error(LOST))
    return false
  }

  /** Ends the attempts whose leases are lost, for example because the event loop was blocked. Returns the others. */
  async function keepHeld(members: readonly Attempt[]): Promise<Attempt[]> {
    const isUnsure = ({ lost, heldAt }: Attempt) => !lost && ageOf(heldAt) > lease
    do {
      const isRenewed = await retryStore(renew)
      if (!isRenewed)
        for (const member of members) member.lost ??= new Error('the lease could not be renewed')
    } while (members.some(isUnsure))
    for (const member of members) if (member.lost) endUnstarted(member, member.lost)
    return members.filter(({ lost }) => !lost)
  }

  const ageOf = (time: number): number => Math.abs(clock() - time)

  async function handle(members: readonly Attempt[], stop: AbortSignal) {
    const [first] = members as readonly [Attempt]
    const { attempt, damage, handler, isRerun } = first.taken
    if (damage) throw damage
    // A process ended during the last allowed attempt. Do not start another attempt, because the handlers may end this
    // process too.
    if (attempt > maxAttempts(handler)) throw new Error('its process ended during the last attempt')
    const deliveries = members.map(({ delivery }) => delivery)
    const tokens = members.map(({ taken }) => taken.token)
    const context = { attempt, tokens, handler, rerun: isRerun || undefined, [ENTER]: enter }
    return runAttempt(receiver, deliveries, context, {
      timeout: optionsOf(handler).timeout ?? config.timeout,
      stop,
      isTogether: work.wait !== undefined,
    })
  }

  /** True if the handlers must not run. */
  const isOver = ({ taken: { attempt, damage, handler } }: Attempt): boolean =>
    damage !== undefined || attempt > maxAttempts(handler)

  /** True if an error is no reason for a dead letter, because the handlers are for other deliveries. */
  const isForeign = (member: Attempt): boolean => !isOver(member) && handover.isForeign(member.taken)

  /** The attempt of a suspect replaces an interrupted one, which counts. */
  const toUnhandled = ({ taken: { attempt, isSuspect } }: Attempt): EndedAttempt['end'] => ({
    state: 'unhandled',
    attempts: isSuspect ? attempt : attempt - 1,
  })

  const isLast = (member: Attempt): boolean =>
    isOver(member) || member.taken.attempt === maxAttempts(member.handler)

  /**
   * Records the ends of attempts. Without a recorded success, the deliveries are handled again. Resolves with the
   * reasons why ends are not recorded. A heartbeat at the same time may report recorded attempts as lost, because they
   * have no lease any more.
   */
  async function recordEnds(
    members: readonly Attempt[],
    toEnd: (member: Attempt) => EndedAttempt['end'],
  ): Promise<Map<Attempt, Error>> {
    const held = members.filter(({ lost }) => !lost)
    const ends = held.map((member) => {
      const { seq, handler, token } = member.taken
      return { seq, handler, token, end: toEnd(member) }
    })
    const bytes = ends.reduce((sum, { end }) => sum + ('errors' in end ? MAX_ERROR_BYTES : 0), 0)
    const recorded = ends.length > 0 ? await record(ends, bytes) : []
    const isRecorded = (member: Attempt) => recorded?.[held.indexOf(member)]
    const reason = recorded
      ? new Error(LOST)
      : new Error('the inbox was closed before the end could be recorded')
    return new Map(members.flatMap((member) => (isRecorded(member) ? [] : [[member, member.lost ?? reason]])))
  }

  /** Stops an attempt, unless its call also handles deliveries that are not lost. */
  function lose(attempt: Attempt): void {
    const lost = new Error(LOST)
    attempt.lost = lost
    if (attempt.call?.members.every((member) => member.lost)) attempt.call.stop.abort(lost)
    if (attempt.call || !callsOf(attempt.handler).remove(attempt)) return
    endUnstarted(attempt, lost)
    onEnd()
  }

  function endUnstarted(attempt: Attempt, error: Error): void {
    notify('failed', { ...toEvent(attempt), milliseconds: 0, error })
    attempt.end()
  }

  async function renew(): Promise<true> {
    const asked = [...attempts.values()]
    const askedAt = clock()
    if (asked.length === 0) return true
    const held = asked.map(({ taken: { seq, handler, token } }) => ({ seq, handler, token }))
    const kept = await table.renew(owner, held, lease)
    for (const [index, attempt] of asked.entries()) {
      if (kept[index]) attempt.heldAt = askedAt
      // An attempt may have ended during the call. Losing it has no effect, because its stop signal has no listeners.
      else lose(attempt)
    }
    return true
  }

  return {
    room: (handler) => callsOf(handler).room(),
    maxAttempts,

    begin(taken, heldAt, leave) {
      const { delivery, handler, attempt, isSuspect, isRerun, damage } = taken
      const name = taskName(delivery.id, handler)
      const isAlone = isSuspect || isRerun || attempt > 1 || damage !== undefined
      let resolveEnded = () => {}
      const ended = new Promise<void>((resolve) => {
        resolveEnded = resolve
      })
      const end = () => {
        attempts.delete(name)
        inProgress.delete(name)
        leave()
        resolveEnded()
      }
      const begun: Attempt = { taken, heldAt, delivery, handler, isAlone, ended, end }
      attempts.set(name, begun)
      inProgress.add(name)
      callsOf(handler).add(begun)
    },

    async renew() {
      await renew().catch((error) => notify('trouble', { error }))
    },

    async close() {
      closed = true
      for (const calls of [shared, ...own.values()]) calls.flush()
      await Promise.all([...attempts.values()].map(({ ended }) => ended))
    },
  }
}

interface Attempt extends QueuedDelivery {
  taken: TakenDelivery
  /** When the lease began or was last renewed. */
  heldAt: number
  /** Set as soon as the handlers are called. */
  call?: { members: readonly Attempt[]; stop: AbortController }
  /** Set if another process has taken the delivery. */
  lost?: Error
  ended: Promise<void>
  end(): void
}

/** A handler can request at most this many times the maximum delay. */
const MAX_REQUESTED = 4

/**
 * Computes the milliseconds until the next attempt. The delay doubles with each attempt. A random part of it, at most
 * half, is subtracted, so that deliveries that failed together are not retried together.
 *
 * @param attempt number of the attempt that failed, from 1
 * @param requested the delay that the handlers asked for
 */
function retryDelayOf(
  attempt: number,
  requested: number | undefined,
  { retryDelay, maxRetryDelay }: { retryDelay: number; maxRetryDelay: number },
): number {
  if (requested !== undefined) return Math.ceil(Math.min(requested, MAX_REQUESTED * maxRetryDelay))
  const delay = Math.min(retryDelay * 2 ** (attempt - 1), maxRetryDelay)
  return Math.ceil(delay * (1 - Math.random() / 2))
}
