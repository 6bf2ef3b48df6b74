import { randomUUID } from 'node:crypto'
import type { JobFaultName } from '../../faults/extraction-faults.ts'
import { responseType } from './document.ts'
import type { ResolvedExtractOptions } from './options.ts'

/** Maximum number of jobs. The oldest is removed first. */
const MAX_JOBS = 1000

/** A job that writes changes to a file. */
export interface Job {
  readonly id: string
  /** Path of the service. */
  readonly service: string
  readonly fileId: string
  readonly hasEdits: boolean
  readonly fault: JobFaultName | undefined
  /** Milliseconds since 1970. */
  readonly submitted: number
  updated: number
  polls: number
  status: string
}

/** The jobs of a mock. */
export interface Jobs {
  submit(job: Pick<Job, 'service' | 'fileId' | 'hasEdits' | 'fault'>): Job
  find(id: string, service: string): Job | undefined
  /** Moves a job to the state that a poll finds now. */
  advance(job: Job): void
  /** Counts a poll. */
  count(job: Job): void
  clear(): void
}

export const COMPLETED = 'Completed'

const END: Readonly<Record<JobFaultName, string | undefined>> = {
  job_failed: 'Failed',
  completed_with_errors: 'CompletedWithErrors',
  never_done: undefined,
}

export function createJobs(
  now: () => number,
  { states, polls, seconds }: Pick<ResolvedExtractOptions, 'states' | 'polls' | 'seconds'>,
): Jobs {
  const jobs = new Map<string, Job>()

  /** From 0 to 1. */
  function progressOf(job: Job): number {
    const byPolls = polls === 0 ? 1 : job.polls / polls
    const byTime = seconds === 0 ? 1 : (now() - job.submitted) / 1000 / seconds
    return Math.min(byPolls, byTime, 1)
  }

  function statusOf(job: Job): string {
    const progress = progressOf(job)
    const end = job.fault ? END[job.fault] : COMPLETED
    if (progress === 1 && end !== undefined) return end
    return states[Math.min(Math.floor(progress * states.length), states.length - 1)] as string
  }

  return {
    submit(job) {
      const submitted = now()
      const created = { ...job, id: randomUUID(), submitted, updated: submitted, polls: 0, status: '' }
      jobs.set(created.id, created)
      const [oldest] = jobs.keys()
      if (jobs.size > MAX_JOBS && oldest !== undefined) jobs.delete(oldest)
      return created
    },
    find(id, service) {
      const job = jobs.get(id)
      return job?.service === service ? job : undefined
    },
    advance(job) {
      const status = statusOf(job)
      if (status !== job.status) job.updated = now()
      job.status = status
    },
    count: (job) => void job.polls++,
    clear: () => jobs.clear(),
  }
}

/**
 * The description of a job. The member of an error is not documented; it has what the documentation of similar jobs
 * names, and the `message` that clients show (docs/decisions.md).
 *
 * @param resultUrl empty while there is no file
 */
export function toJobJson(job: Job, resultUrl: string): object {
  return {
    responseType: responseType(job.hasEdits),
    resultUrl,
    submissionTime: job.submitted,
    lastUpdatedTime: job.updated,
    status: job.status,
    transportType: 'esriTransportTypeUrl',
    ...(job.status === END.job_failed ? { error: FAILURE } : {}),
  }
}

const FAILURE = {
  code: 500,
  message: 'Unable to extract the changes.',
  description: 'Unable to extract the changes.',
}
