import type { DelayedError, UnrecoverableError } from 'bullmq'
import type { HandleResult, StoredDelivery } from '../../receiver/types.ts'
import { toErrorText } from '../error-text.ts'
import type { AttemptEnded } from '../inbox-observer.ts'
import type { InboxConfig } from '../inbox-options.ts'
import { readDelivery } from './decode.ts'
import type { ExpiredLeases } from './expired-leases.ts'
import type { JobCalls } from './job-calls.ts'
import type { HeldJob } from './locks.ts'
import type { DeliveryJob } from './schema.ts'

/** How a run ended. */
export interface RunEnded {
  event: AttemptEnded
  /** Absent if the run failed. */
  result?: HandleResult
}

/** A job whose handlers are to run. */
export interface JobToRun extends HeldJob {
  isSuspect: boolean
  /** True to count the attempt before the handlers run. */
  isCounted: boolean
}

/** Dependencies of {@link createJobRunner}. */
export interface JobRunnerOptions extends Pick<ExpiredLeases, 'countAttempt'> {
  calls: Pick<JobCalls, 'handle'>
  config: InboxConfig
  /** BullMQ error class that fails a job without another attempt. */
  UnrecoverableError: typeof UnrecoverableError
  /** BullMQ error class that ends a run without recording a success or a failure. */
  DelayedError: typeof DelayedError
}

/** Runs the handlers of jobs. */
export interface JobRunner {
  /** If the run fails, rejects with the error that BullMQ has to record. Its member `ended` is a {@link RunEnded}. */
  run(job: JobToRun): Promise<RunEnded>
  /** Reads the delivery of a job. If the data is damaged, throws an error that makes the job fail for good. */
  read(job: DeliveryJob): StoredDelivery
}

export function createJobRunner(options: JobRunnerOptions): JobRunner {
  const { calls, config, countAttempt, UnrecoverableError, DelayedError } = options
  const { attempts, notify } = config

  function read(job: DeliveryJob): StoredDelivery {
    try {
      return readDelivery(() => job.data)
    } catch (error) {
      notify('trouble', { error })
      throw new UnrecoverableError(toErrorText(error))
    }
  }

  return {
    read,

    async run({ job, isSuspect, isCounted, stop }) {
      const attempt = isCounted ? await countAttempt(job, attempts) : job.attemptsMade + 1
      const started = performance.now()
      const delivery = read(job)
      // The job was removed after another process handled it. This error keeps BullMQ from recording anything.
      if (attempt === 0) throw new DelayedError()
      const event = (): AttemptEnded => ({ delivery, attempt, milliseconds: performance.now() - started })
      try {
        // A process exited during the last allowed attempt. Do not start another attempt, because the handlers may
        // terminate this process too.
        if (attempt > attempts) throw new Error('its process ended during the last attempt')
        const result = await calls.handle({ job, delivery, attempt, isSuspect, stop })
        return { event: event(), result }
      } catch (cause) {
        const text = toErrorText(cause)
        const error = attempt >= attempts ? new UnrecoverableError(text) : new Error(text)
        throw Object.assign(error, { cause, ended: { event: event() } })
      }
    },
  }
}
