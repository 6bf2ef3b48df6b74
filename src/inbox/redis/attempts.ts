import type { UnrecoverableError, Worker } from 'bullmq'
import type { Receiver } from '../../receiver/api.ts'
import type { StoredDelivery } from '../../receiver/delivery.ts'
import { runAttempt, toErrorText } from '../handling.ts'
import type { AttemptEnded } from '../observer.ts'
import type { InboxConfig } from '../options.ts'
import type { Envelope } from '../stored.ts'
import { type DeliveryJob, readDelivery } from './jobs.ts'

/** How many runs are remembered whose end could not be written down. */
const MOST_REMEMBERED = 10_000

/** A run of the handlers in this process. */
interface Run {
  stop: AbortController
  /** Rejects with what BullMQ is to write down. */
  ended: Promise<AttemptEnded>
}

/** What runs the handlers for a worker of BullMQ. */
export interface Attempts {
  process(job: DeliveryJob): Promise<void>
  /** Tells how attempts ended, when BullMQ has written it down, and stops those that are no longer this process's. */
  watch(worker: Worker<Envelope>): void
  isAtWork(): boolean
  /** Resolves when none is at work. */
  ended(): Promise<void>
}

/** What attempts need. */
export interface AttemptsOptions {
  receiver: Pick<Receiver, 'handle'>
  config: InboxConfig
  /** What BullMQ takes for a failure after which there is no other attempt. */
  Last: typeof UnrecoverableError
  /** Says that BullMQ has counted an attempt which there was not. */
  uncount(job: DeliveryJob): Promise<void>
  /** Whether another worker has, or had, a job whose lease has run out. */
  isTaken(jobId: string, workerId: string): Promise<boolean>
}

export function createAttempts({ receiver, config, Last, uncount, isTaken }: AttemptsOptions): Attempts {
  const { attempts, timeout, tell } = config
  /** What is at work, and what has succeeded, until that is written down. */
  const runs = new Map<string, Run>()
  const atWork = new Set<Promise<unknown>>()
  const seen = new WeakMap<DeliveryJob, AttemptEnded>()
  // A delivery that was removed and came again is another job with the same id.
  const keyOf = (job: DeliveryJob): string => `${job.id} ${job.timestamp}`

  async function run(job: DeliveryJob, stop: AbortSignal): Promise<AttemptEnded> {
    const attempt = job.attemptsStarted
    const started = performance.now()
    const delivery = read(job)
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

  function begin(job: DeliveryJob): Run {
    const stop = new AbortController()
    const key = keyOf(job)
    const ended = run(job, stop.signal)
    const one: Run = { stop, ended }
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
    async process(job) {
      const earlier = runs.get(keyOf(job))
      // Its lease ran out, because Redis was not there or the event loop stood still, and it came back to where it
      // is, or was, handled. How that ends, or ended, is how this ends.
      if (earlier) await uncount(job)
      try {
        seen.set(job, await (earlier ?? begin(job)).ended)
      } catch (error) {
        const { ended } = error as { ended?: AttemptEnded }
        if (ended) seen.set(job, ended)
        throw error
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
