import type { DelayedError, UnrecoverableError, Worker } from 'bullmq'
import type { Receiver } from '../../receiver/api.ts'
import type { StoredDelivery } from '../../receiver/delivery.ts'
import { runAttempt, toErrorText } from '../handling.ts'
import type { AttemptEnded } from '../observer.ts'
import type { InboxConfig } from '../options.ts'
import type { Envelope } from '../stored.ts'
import { enterAsSuspect } from '../suspects.ts'
import { type DeliveryJob, readDelivery } from './jobs.ts'
import type { Leases } from './leases.ts'

/** How many runs are remembered whose end could not be written down. */
const MOST_REMEMBERED = 10_000

/** Milliseconds until a suspect is taken again that found another one in progress: this, and by chance as much again. */
const AGAIN = 500

/** A run of the handlers in this process. */
interface Run {
  stop: AbortController
  /** It was counted before it began. */
  isCounted: boolean
  /** Rejects with what BullMQ is to write down. */
  ended: Promise<AttemptEnded>
}

/** What runs the handlers for a worker of BullMQ. */
export interface Attempts {
  process(job: DeliveryJob, token?: string): Promise<void>
  /** Tells how attempts ended, when BullMQ has written it down, and stops those that are no longer this process's. */
  watch(worker: Worker<Envelope>): void
  isAtWork(): boolean
  /** Resolves when none is at work. */
  ended(): Promise<void>
}

/** What attempts need. */
export interface AttemptsOptions extends Leases {
  receiver: Pick<Receiver, 'handle'>
  config: InboxConfig
  /** What BullMQ takes for a failure after which there is no other attempt. */
  Last: typeof UnrecoverableError
  /** What BullMQ takes for a job that waits again, and did not fail. */
  Later: typeof DelayedError
}

export function createAttempts(options: AttemptsOptions): Attempts {
  const { receiver, config, Last, Later, count, clear, isTaken } = options
  const { attempts, timeout, tell } = config
  /** What is at work, and what has succeeded, until that is written down. */
  const runs = new Map<string, Run>()
  const atWork = new Set<Promise<unknown>>()
  const seen = new WeakMap<DeliveryJob, AttemptEnded>()
  // A delivery that was removed and came again is another job with the same id.
  const keyOf = (job: DeliveryJob): string => `${job.id} ${job.timestamp}`

  async function run(job: DeliveryJob, isCounted: boolean, stop: AbortSignal): Promise<AttemptEnded> {
    const attempt = isCounted ? await count(job, attempts) : job.attemptsMade + 1
    const started = performance.now()
    const delivery = read(job)
    // Another process has handled it, and it was removed: BullMQ writes nothing after this error.
    if (attempt === 0) throw new Later()
    const ended = (): AttemptEnded => ({ delivery, attempt, milliseconds: performance.now() - started })
    try {
      // Its process ended during each attempt. It shall not take the others down with it for ever.
      if (attempt > attempts) throw new Error('its process ended during the last attempt')
      await runAttempt(receiver, delivery, { attempt, timeout, stop })
      return ended()
    } catch (cause) {
      const text = toErrorText(cause)
      const error = attempt >= attempts ? new Last(text) : new Error(text)
      throw Object.assign(error, { cause, ended: ended() })
    }
  }

  /** What cannot be read now cannot be read later. */
  function read(job: DeliveryJob): StoredDelivery {
    try {
      return readDelivery(() => job.data)
    } catch (error) {
      tell('trouble', { error })
      throw new Last(toErrorText(error))
    }
  }

  function begin(job: DeliveryJob, isSuspect: boolean): Run {
    const stop = new AbortController()
    const key = keyOf(job)
    // BullMQ counts an attempt when it ends. That of a suspect may end the process, so it is counted before.
    const isCounted = isSuspect || job.attemptsMade >= attempts
    const ended = run(job, isCounted, stop.signal)
    const one: Run = { stop, isCounted, ended }
    runs.set(key, one)
    atWork.add(ended)
    ended
      .catch(() => {
        if (runs.get(key) === one) runs.delete(key)
      })
      .finally(() => {
        atWork.delete(ended)
        forget()
      })
    return one
  }

  function forget(): void {
    const [oldest] = runs.keys()
    if (runs.size > MOST_REMEMBERED && oldest !== undefined) runs.delete(oldest)
  }

  return {
    async process(job, token) {
      // Its lease ran out, because Redis was not there or the event loop stood still, and it came back to where it
      // is, or was, handled. How that ends, or ended, is how this ends.
      const earlier = runs.get(keyOf(job))
      const isSuspect = job.stalledCounter > 0
      const leave = isSuspect && !earlier ? enterAsSuspect() : undefined
      if (isSuspect && !earlier && !leave) {
        await job.moveToDelayed(Date.now() + Math.ceil(AGAIN * (1 + Math.random())), token)
        throw new Later()
      }
      const { ended, isCounted } = earlier ?? begin(job, isSuspect)
      const endByItself = async (): Promise<void> => {
        if (isSuspect || isCounted) await clear(job, isCounted)
      }
      try {
        seen.set(job, await ended)
        await endByItself()
      } catch (error) {
        const { ended } = error as { ended?: AttemptEnded }
        if (ended) seen.set(job, ended)
        if (ended || error instanceof Last) await endByItself()
        throw error
      } finally {
        leave?.()
      }
    },

    watch(worker) {
      worker.on('completed', (job) => {
        runs.delete(keyOf(job))
        const ended = seen.get(job)
        if (ended) tell('handled', ended)
      })
      worker.on('failed', (job, error) => {
        const ended = job && seen.get(job)
        if (ended) tell(error instanceof Last ? 'dead' : 'failed', { ...ended, error: error.cause })
      })
      worker.on('lockRenewalFailed', async (ids) => {
        const asked = [...runs]
        const lost = new Error('another process has taken the delivery over')
        for (const id of ids) {
          if (!(await isTaken(id, worker.id))) continue
          for (const [key, { stop }] of asked) if (key.startsWith(`${id} `)) stop.abort(lost)
        }
      })
    },

    isAtWork: () => atWork.size > 0,
    async ended() {
      while (atWork.size > 0) await Promise.allSettled(atWork)
    },
  }
}
