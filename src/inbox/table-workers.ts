import type { HandleResult } from '../receiver/dispatch.ts'
import { backoff } from './backoff.ts'
import type { DeliveryHandler, Workers } from './durable-inbox.ts'
import type { AttemptEnd, DeliveriesTable, TakenDelivery } from './engine-port.ts'
import { toErrorText } from './error-text.ts'
import type { InboxConfig } from './inbox-options.ts'
import { runAttempt } from './run-attempt.ts'
import { acquireSuspectSlot } from './suspect-slot.ts'

/** Maximum milliseconds between two polls of the table. Polls find deliveries that other processes have stored. */
const POLL_INTERVAL = 1_000

/** Milliseconds until recordEnd() retries after an error of the store. */
const RECORD_RETRY_DELAY = 250

/** Dependencies of {@link startTableWorkers}. */
export interface TableWorkersOptions {
  table: DeliveriesTable
  receiver: DeliveryHandler
  concurrency: number
  config: InboxConfig
  clock: () => number
  /** Ids of the deliveries that any worker of the inbox is handling. */
  inProgress: Set<string>
}

/** Starts workers that take deliveries from a table, run their handlers and record how the attempts ended. */
export function startTableWorkers(options: TableWorkersOptions): Workers & {
  /** Polls the table immediately. Call it when there may be a delivery to take. */
  wake(): void
} {
  const { table, receiver, concurrency, config, clock, inProgress } = options
  const { lease, timeout, notify } = config
  const owner = crypto.randomUUID()
  const attempts = new Map<string, { stop: AbortController; ended: Promise<void> }>()
  let closed = false
  let isAwake = false
  let interruptSleep = () => {}

  const wake = (): void => {
    isAwake = true
    interruptSleep()
  }

  /**
   * Resolves after the given milliseconds, or as soon as `wake` is called. Resolves immediately if `wake` was called
   * since the last sleep.
   */
  async function sleep(milliseconds: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    if (!isAwake && milliseconds > 0) {
      await new Promise<void>((resolve) => {
        interruptSleep = resolve
        timer = setTimeout(resolve, milliseconds)
      })
    }
    clearTimeout(timer)
    isAwake = false
  }

  async function loop(): Promise<void> {
    while (!closed) {
      try {
        await sleep(await takeNext())
      } catch (error) {
        notify('trouble', { error })
        await sleep(POLL_INTERVAL)
      }
    }
  }

  /** @returns milliseconds to wait before calling `takeNext` again */
  async function takeNext(): Promise<number> {
    // If the event loop was blocked, leases may be about to expire: renew them before taking more deliveries.
    if (clock() - lastHeartbeat > lease / 2) heartbeat()
    await renewing
    if (attempts.size >= concurrency) return POLL_INTERVAL
    const freeSlot = acquireSuspectSlot()
    let isSuspect = false
    try {
      const { taken, wait = POLL_INTERVAL } = await table.take({
        owner,
        inProgress,
        lease,
        attempts: config.attempts,
        suspects: freeSlot !== undefined,
      })
      if (!taken) return Math.min(POLL_INTERVAL, Math.max(1, wait))
      // Skips a delivery whose handlers are still running in this process. PostgreSQL's `take` does not check
      // `inProgress`, and returns such a delivery if its lease expired because PostgreSQL was unreachable.
      if (inProgress.has(taken.delivery.id)) return 0
      isSuspect = taken.isSuspect
      begin(taken, isSuspect ? freeSlot : undefined)
    } finally {
      if (!isSuspect) freeSlot?.()
    }
    return 0
  }

  function begin(taken: TakenDelivery, freeSlot?: () => void): void {
    const { id } = taken.delivery
    const stop = new AbortController()
    const ended = handle(taken, stop.signal).finally(() => {
      attempts.delete(id)
      inProgress.delete(id)
      freeSlot?.()
      wake()
    })
    attempts.set(id, { stop, ended })
    inProgress.add(id)
  }

  async function handle(taken: TakenDelivery, stop: AbortSignal): Promise<void> {
    const { delivery, attempt, attempts: maxAttempts = config.attempts } = taken
    const started = performance.now()
    let result: HandleResult
    const event = () => ({ delivery, attempt, milliseconds: performance.now() - started })
    try {
      // A process exited during the last allowed attempt. Do not start another attempt, because the handlers may
      // terminate this process too.
      if (attempt > maxAttempts) throw new Error('its process ended during the last attempt')
      result = await runAttempt(receiver, delivery, { attempt, timeout, stop })
    } catch (error) {
      if (stop.aborted) return notify('failed', { ...event(), error })
      const text = toErrorText(error)
      const isLast = attempt >= maxAttempts
      const delay = backoff(attempt, config)
      await recordEnd(
        delivery.id,
        isLast ? { state: 'dead', error: text } : { state: 'waiting', error: text, delay },
      )
      return notify(isLast ? 'dead' : 'failed', { ...event(), error })
    }
    await recordEnd(delivery.id, { state: 'done' })
    notify(result, event())
  }

  /**
   * Records the end of an attempt, and retries while the store fails: without a recorded success, the delivery would be
   * handled again.
   */
  async function recordEnd(id: string, end: AttemptEnd): Promise<void> {
    const endedAt = clock()
    for (;;) {
      try {
        await table.endAttempt(owner, id, end)
        return
      } catch (error) {
        notify('trouble', { error })
        if (closed && clock() - endedAt > lease) return
        await new Promise((resolve) => setTimeout(resolve, RECORD_RETRY_DELAY))
      }
    }
  }

  let lastHeartbeat = -Infinity
  let renewing = Promise.resolve()

  function heartbeat(): void {
    lastHeartbeat = clock()
    renewing = renew()
  }

  async function renew(): Promise<void> {
    if (attempts.size === 0) return
    try {
      const asked = [...attempts]
      const kept = new Set(await table.renew(owner, [...attempts.keys()], lease))
      const lost = new Error('another process has taken the delivery over')
      // Skip a delivery if its attempt ended and a new attempt began during the call, because the call did not renew
      // the new attempt.
      for (const [id, attempt] of asked)
        if (!kept.has(id) && attempts.get(id) === attempt) attempt.stop.abort(lost)
    } catch (error) {
      notify('trouble', { error })
    }
  }

  const heartbeats = setInterval(heartbeat, lease / 3)
  const looping = loop()
  return {
    wake,
    async close() {
      closed = true
      wake()
      await looping
      await Promise.all([...attempts.values()].map(({ ended }) => ended))
      clearInterval(heartbeats)
    },
  }
}
