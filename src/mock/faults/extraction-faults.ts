/** Name of a fault of a change extraction: of `extractChanges`, its jobs and its files. */
export type ExtractionFaultName =
  | 'job_failed'
  | 'completed_with_errors'
  | 'completed_without_url'
  | 'unknown_status'
  | 'result_gone'
  | 'token_expired'
  | 'html_answer'
  | 'error_with_200'
  | 'window_purged'
  | 'ids_only_empty'
  | 'redirect_elsewhere'
  | 'cut_result'
  | 'never_done'

/** Effect of each fault of a change extraction. */
export const EXTRACTION_FAULTS: Readonly<Record<ExtractionFaultName, string>> = {
  job_failed: 'the job ends with the status Failed and an error',
  completed_with_errors: 'the job ends with the status CompletedWithErrors and without a file',
  completed_without_url: 'a poll finds the status Completed, but an empty resultUrl',
  unknown_status: 'a poll finds a status that no client knows',
  result_gone: 'the file is removed before it is read',
  token_expired: 'the answer is error 498, as if the token had expired',
  html_answer: 'the answer is an HTML page with the status 200',
  error_with_200: 'the answer is error 500 with the status 200',
  window_purged: 'the answer is the error for generations that are no longer kept',
  ids_only_empty: 'a request with returnIdsOnly finds no changes',
  redirect_elsewhere: 'the file redirects to another host, which does not have it',
  cut_result: 'the connection ends in the middle of the file or of embedded changes',
  never_done: 'the job stays in the last state before Completed',
}

/** A step of a change extraction: the request that starts it, a request for its job, and a request for its file. */
export type ExtractionStep = 'submit' | 'poll' | 'result'

export const EXTRACTION_STEPS: readonly ExtractionStep[] = ['submit', 'poll', 'result']

/** Faults that can occur at every step. */
export const EVERY_STEP_FAULTS = ['token_expired', 'html_answer', 'error_with_200'] as const
export type EveryStepFaultName = (typeof EVERY_STEP_FAULTS)[number]

/** Faults that a job gets when it is created. */
export const JOB_FAULTS = ['job_failed', 'completed_with_errors', 'never_done'] as const
export type JobFaultName = (typeof JOB_FAULTS)[number]

export const isExtractionFault = (name: string): name is ExtractionFaultName =>
  Object.hasOwn(EXTRACTION_FAULTS, name)

export const isJobFault = (name: string): name is JobFaultName =>
  (JOB_FAULTS as readonly string[]).includes(name)
