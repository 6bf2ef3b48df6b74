import type { Worker } from 'bullmq'
import { lostLease } from '../lost-lease.ts'
import type { Envelope } from '../serialize.ts'
import type { ExpiredLeases } from './expired-leases.ts'
import { createJobCalls, type JobCallsOptions } from './job-calls.ts'
import { createJobRunner, type JobRunnerOptions, type RunEnded } from './job-runner.ts'
import type { DeliveryJob } from './schema.ts'
import type { SuccessMarks } from './success-marks.ts'
import { createSuspectTurns, delayOfSuspect } from './suspect-turns.ts'

/** Maximum number of runs to remember. Without this limit, runs would accumulate if BullMQ cannot record their ends. */
const MAX_RUNS = 10_000

/** Maximum number of jobs that the worker takes with `coalesce`. If the process crashes, all of them become suspects. */
export const MAX_JOBS = 250

/** One run of a delivery's handlers in this process. */
interface Run {
  stop: AbortController
  /** True if the attempt was counted before it began. */
  isCounted: boolean
  /** If the run fails, rejects with the error that BullMQ has to record. */
  ended: Promise<RunEnded>
  /** True if the observer knows that another process has taken the job. */
  isReportedLost?: boolean
}

/** Runs the handlers for a BullMQ worker. */
export interface JobProcessor {
  process(job: DeliveryJob, token?: string): Promise<void>
  /**
   * Listens to a worker, in order to notify the observer when BullMQ has recorded the end of an attempt, and to abort
   * the runs of jobs that another process has taken.
   */
  watch(worker: Worker<Envelope>): void
  /** Begins the handlers of all jobs that still wait for others, and releases suspects that have not begun. */
  flush(): void
  isBusy(): boolean
  /** Resolves when no handler is running. */
  idle(): Promise<void>
}

/** Dependencies of {@link createJobProcessor}. */
export interface JobProcessorOptions
  extends ExpiredLeases,
    Omit<JobRunnerOptions, 'calls'>,
    Pick<JobCallsOptions, 'receiver' | 'work' | 'locks'> {
  marks: SuccessMarks
}

export function createJobProcessor(options: JobProcessorOptions): JobProcessor {
  const { receiver, work, marks, locks, config, UnrecoverableError, DelayedError, clearSuspect, isTaken } =
    options
  const { attempts, notify } = config
  const calls = createJobCalls({ receiver, work, config, marks, locks, onEnd: limitJobs })
  const { run, read } = createJobRunner({ ...options, calls })
  const turns = createSuspectTurns()
  let worker: Worker<Envelope> | undefined
  /** Runs in progress, and successful runs that BullMQ has not recorded yet. */
  const runs = new Map<string, Run>()
  const inProgress = new Set<Promise<unknown>>()
  const endings = new WeakMap<DeliveryJob, RunEnded>()
  // The key includes the timestamp, because a delivery that is removed and stored again becomes a new job with the same
  // id.
  const keyOf = (job: DeliveryJob): string => `${job.id} ${job.timestamp}`

  function begin(job: DeliveryJob, isSuspect: boolean, stop: AbortController): Run {
    const key = keyOf(job)
    // BullMQ counts an attempt when it ends. Count a suspect's attempt before its handlers run, because they may
    // terminate the process. If no attempt is left, do the same, so that the stored count does not grow.
    const isCounted = isSuspect || job.attemptsMade >= attempts
    const ended = run({ job, isSuspect, isCounted, stop })
    const started: Run = { stop, isCounted, ended }
    runs.set(key, started)
    inProgress.add(ended)
    ended
      .catch(() => {
        if (runs.get(key) === started) runs.delete(key)
      })
      .finally(() => {
        inProgress.delete(ended)
        evict()
        limitJobs()
      })
    limitJobs()
    return started
  }

  function evict(): void {
    const [oldest = ''] = runs.keys()
    if (runs.size > MAX_RUNS) runs.delete(oldest)
  }

  /** With `coalesce`, keeps the worker from taking another job while there is no room for it. */
  function limitJobs(): void {
    if (!worker || work.wait === undefined) return
    worker.concurrency = calls.hasRoom() ? MAX_JOBS : Math.max(1, inProgress.size)
  }

  async function process(job: DeliveryJob, token?: string): Promise<void> {
    // If the lease expired while Redis was unreachable or the event loop was blocked, this process may get a job that
    // it is already running or has run. Use the result of that earlier run.
    const known = runs.get(keyOf(job))
    const isSuspect = job.stalledCounter > 0
    const event = () => ({ delivery: read(job), attempt: job.attemptsMade + 1, milliseconds: 0 })
    if (isSuspect && !known && (await marks.isMarked(job))) {
      endings.set(job, { event: event(), result: 'handled' })
      return
    }
    // With `coalesce`, the worker has room for suspects that wait, and delaying many of them would keep Redis busy.
    const freeSlot = isSuspect && !known ? await turns.take(work.wait !== undefined) : undefined
    if (isSuspect && !known && !freeSlot) {
      await job.moveToDelayed(Date.now() + delayOfSuspect(work.wait !== undefined), token)
      throw new DelayedError()
    }
    const stop = new AbortController()
    try {
      if (!known && locks.isOld(job)) await locks.keepHeld([{ job, stop }])
      if (stop.signal.aborted) {
        notify('failed', { ...event(), error: stop.signal.reason })
        throw new DelayedError()
      }
      const earlier = runs.get(keyOf(job))
      const isRecordable = await end(job, earlier ?? begin(job, isSuspect, stop), isSuspect)
      if (isRecordable) return
      if (!earlier) throw new DelayedError()
    } finally {
      freeSlot?.()
    }
    // The earlier run lost the job, and then this process has taken the job again.
    return process(job, token)
  }

  /** Resolves with false if another process has taken the job. Rejects with the error that BullMQ has to record. */
  async function end(job: DeliveryJob, started: Run, isSuspect: boolean): Promise<boolean> {
    const { stop, isCounted } = started
    const [result] = await Promise.allSettled([started.ended])
    const error = result.status === 'rejected' ? result.reason : undefined
    const ended: RunEnded | undefined = result.status === 'fulfilled' ? result.value : error.ended
    if (!stop.signal.aborted && locks.isOld(job) && (await isTaken(job.id ?? '', worker?.id ?? '')))
      stop.abort(lostLease())
    if ((ended || error instanceof UnrecoverableError) && (isSuspect || isCounted))
      await clearSuspect(job, isCounted)
    if (ended && stop.signal.aborted) {
      if (runs.get(keyOf(job)) === started) runs.delete(keyOf(job))
      if (!started.isReportedLost) notify('failed', { ...ended.event, error: stop.signal.reason })
      started.isReportedLost = true
      return false
    }
    if (ended) endings.set(job, ended)
    if (error) throw error
    return true
  }

  return {
    process,

    watch(watched) {
      worker = watched
      worker.on('completed', (job) => {
        runs.delete(keyOf(job))
        const ended = endings.get(job)
        if (ended?.result) notify(ended.result, ended.event)
      })
      worker.on('failed', (job, error) => {
        const ended = job && endings.get(job)
        if (ended)
          notify(error instanceof UnrecoverableError ? 'dead' : 'failed', {
            ...ended.event,
            error: error.cause,
          })
      })
      worker.on('lockRenewalFailed', async (ids) => {
        const asked = [...runs]
        const lost = lostLease()
        for (const id of ids) {
          if (!(await isTaken(id, watched.id))) continue
          for (const [key, { stop }] of asked) if (key.startsWith(`${id} `)) stop.abort(lost)
        }
      })
    },

    flush() {
      turns.close()
      calls.close()
    },
    isBusy: () => inProgress.size > 0,
    async idle() {
      while (inProgress.size > 0) await Promise.allSettled(inProgress)
    },
  }
}
