import type { UnrecoverableError, Worker } from 'bullmq'
import type { Receiver } from '../../receiver/api.ts'
import { runAttempt, toErrorText } from '../handling.ts'
import type { AttemptEnded } from '../observer.ts'
import type { InboxConfig } from '../options.ts'
import { type Envelope, fromEnvelope } from '../stored.ts'
import type { DeliveryJob } from './jobs.ts'

/** How many runs are remembered whose end could not be written down. */
const MOST_REMEMBERED = 10_000

/** A run of the handlers in this process. */
interface Run {
  stop: AbortController
  succeeded: Promise<boolean>
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

/** @param Last what BullMQ takes for a failure after which there is no other attempt */
export function createAttempts(
  receiver: Pick<Receiver, 'handle'>,
  { attempts, timeout, tell }: InboxConfig,
  Last: typeof UnrecoverableError,
): Attempts {
  /** What is at work, and what has succeeded, until that is written down. */
  const runs = new Map<string, Run>()
  const atWork = new Set<Promise<void>>()
  const seen = new WeakMap<DeliveryJob, AttemptEnded>()
  // A delivery that was removed and came again is another job with the same id.
  const keyOf = (job: DeliveryJob): string => `${job.id} ${job.timestamp}`

  async function run(job: DeliveryJob): Promise<void> {
    const attempt = job.attemptsStarted
    const delivery = fromEnvelope(job.data)
    const started = performance.now()
    const stop = new AbortController()
    // Its process ended during each attempt. It shall not take the others down with it for ever.
    const work =
      attempt > attempts
        ? Promise.reject(new Error('its process ended during the last attempt'))
        : runAttempt(receiver, delivery, { attempt, timeout, stop: stop.signal })
    const succeeded = work.then(
      () => true,
      () => false,
    )
    runs.set(keyOf(job), { stop, succeeded })
    try {
      await work
    } catch (cause) {
      runs.delete(keyOf(job))
      const text = toErrorText(cause)
      throw Object.assign(attempt >= attempts ? new Last(text) : new Error(text), { cause })
    } finally {
      seen.set(job, { delivery, attempt, milliseconds: performance.now() - started })
      forget()
    }
  }

  function forget(): void {
    const [oldest] = runs.keys()
    if (runs.size > MOST_REMEMBERED && oldest !== undefined) runs.delete(oldest)
  }

  return {
    async process(job) {
      // Its lease ran out while Redis was not there, and it came back to where it was, or is, handled.
      if (await runs.get(keyOf(job))?.succeeded) return
      const running = run(job)
      atWork.add(running)
      await running.finally(() => atWork.delete(running))
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
      worker.on('lockRenewalFailed', (ids) => {
        const lost = new Error('another process may have taken the delivery over')
        for (const [key, { stop }] of runs) if (ids.some((id) => key.startsWith(`${id} `))) stop.abort(lost)
      })
    },

    isAtWork: () => atWork.size > 0,
    async ended() {
      while (atWork.size > 0) await Promise.allSettled(atWork)
    },
  }
}
