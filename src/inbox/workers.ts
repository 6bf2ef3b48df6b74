import type { Receiver } from '../receiver/api.ts'
import { backoff } from './backoff.ts'
import { runAttempt, toErrorText } from './handling.ts'
import type { Workers } from './inbox.ts'
import type { InboxConfig } from './options.ts'
import { enterAsSuspect } from './suspects.ts'
import type { Claimed, End, Table } from './table.ts'

/** Milliseconds after which the table is asked again, for what another process has put there. */
const POLL = 1_000

/** Milliseconds between two tries to write down how an attempt ended, while the store is not there. */
const SETTLE_AGAIN = 250

/** What workers need. */
export interface WorkersOptions {
  table: Table
  receiver: Pick<Receiver, 'handle'>
  concurrency: number
  config: InboxConfig
  clock: () => number
  /** Ids of the deliveries that all workers of the inbox have in progress. */
  inProgress: Set<string>
}

/** Takes deliveries from a table, runs their handlers, and writes down how it ended. */
export function startWorkers(options: WorkersOptions): Workers & {
  /** There may be something to do. */
  wake(): void
} {
  const { table, receiver, concurrency, config, clock, inProgress } = options
  const { lease, timeout, tell } = config
  const owner = crypto.randomUUID()
  const atWork = new Map<string, { stop: AbortController; ended: Promise<void> }>()
  let closed = false
  let isAwake = false
  let wakeUp = () => {}

  const wake = (): void => {
    isAwake = true
    wakeUp()
  }

  /** Resolves after so many milliseconds, or when there may be something to do, also since the last time. */
  async function rest(milliseconds: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    if (!isAwake && milliseconds > 0) {
      await new Promise<void>((resolve) => {
        wakeUp = resolve
        timer = setTimeout(resolve, milliseconds)
      })
    }
    clearTimeout(timer)
    isAwake = false
  }

  async function loop(): Promise<void> {
    while (!closed) {
      try {
        await rest(await takeNext())
      } catch (error) {
        tell('trouble', { error })
        await rest(POLL)
      }
    }
  }

  /** @returns for how long there will be nothing to do */
  async function takeNext(): Promise<number> {
    // After the event loop was blocked, other processes must not take our deliveries for those of a dead process.
    if (clock() - lastBeat > lease / 2) beat()
    await beating
    if (atWork.size >= concurrency) return POLL
    const leave = enterAsSuspect()
    let isSuspect = false
    try {
      const { attempts } = config
      const { claimed, wait = POLL } = await table.claim({
        owner,
        inProgress,
        lease,
        attempts,
        suspects: leave !== undefined,
      })
      if (!claimed) return Math.min(POLL, Math.max(1, wait))
      // PostgreSQL was away for longer than the lease: the handlers of the delivery are still in progress here.
      if (inProgress.has(claimed.delivery.id)) return 0
      isSuspect = claimed.isSuspect
      begin(claimed, isSuspect ? leave : undefined)
    } finally {
      if (!isSuspect) leave?.()
    }
    return 0
  }

  function begin(claimed: Claimed, leave?: () => void): void {
    const { id } = claimed.delivery
    const stop = new AbortController()
    const ended = handle(claimed, stop.signal).finally(() => {
      atWork.delete(id)
      inProgress.delete(id)
      leave?.()
      wake()
    })
    atWork.set(id, { stop, ended })
    inProgress.add(id)
  }

  async function handle(claimed: Claimed, stop: AbortSignal): Promise<void> {
    const { delivery, attempt, attempts = config.attempts } = claimed
    const started = performance.now()
    const seen = () => ({ delivery, attempt, milliseconds: performance.now() - started })
    try {
      // Its process ended during each attempt. It shall not take the others down with it for ever.
      if (attempt > attempts) throw new Error('its process ended during the last attempt')
      await runAttempt(receiver, delivery, { attempt, timeout, stop })
    } catch (error) {
      if (stop.aborted) return tell('failed', { ...seen(), error })
      const text = toErrorText(error)
      const isLast = attempt >= attempts
      const delay = backoff(attempt, config)
      await settle(
        delivery.id,
        isLast ? { state: 'dead', error: text } : { state: 'waiting', error: text, delay },
      )
      return tell(isLast ? 'dead' : 'failed', { ...seen(), error })
    }
    await settle(delivery.id, { state: 'done' })
    tell('handled', seen())
  }

  /** What was handled is written down, also when the store comes back late: else it would be handled again. */
  async function settle(id: string, end: End): Promise<void> {
    const ended = clock()
    for (;;) {
      try {
        await table.settle(owner, id, end)
        return
      } catch (error) {
        tell('trouble', { error })
        if (closed && clock() - ended > lease) return
        await new Promise((resolve) => setTimeout(resolve, SETTLE_AGAIN))
      }
    }
  }

  let lastBeat = -Infinity
  let beating = Promise.resolve()

  function beat(): void {
    lastBeat = clock()
    beating = renew()
  }

  async function renew(): Promise<void> {
    if (atWork.size === 0) return
    try {
      const asked = [...atWork]
      const kept = new Set(await table.renew(owner, [...atWork.keys()], lease))
      const lost = new Error('another process has taken the delivery over')
      // What ended and began again meanwhile is another attempt, which was not asked for.
      for (const [id, one] of asked) if (!kept.has(id) && atWork.get(id) === one) one.stop.abort(lost)
    } catch (error) {
      tell('trouble', { error })
    }
  }

  const heart = setInterval(beat, lease / 3)
  const looping = loop()
  return {
    wake,
    async close() {
      closed = true
      wake()
      await looping
      await Promise.all([...atWork.values()].map(({ ended }) => ended))
      clearInterval(heart)
    },
  }
}
