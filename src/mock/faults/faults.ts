import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { check } from '../schemas.ts'

/** Name of a fault of a delivery. */
export type DeliveryFaultName =
  | 'wrong_key'
  | 'altered'
  | 'unsigned'
  | 'truncated'
  | 'wrong_content_type'
  | 'gzip'
  | 'duplicate'
  | 'two_at_once'
  | 'reordered'
  | 'delayed'
  | 'slow_drip'
  | 'connection_dropped'
  | 'wrong_length'
  | 'answer_lost'

/** Effect of each fault of a delivery. */
export const DELIVERY_FAULTS: Readonly<Record<DeliveryFaultName, string>> = {
  wrong_key: 'signed with another key',
  altered: 'one bit is changed after signing',
  unsigned: 'sent without a signature',
  truncated: 'the second half of the body is missing, and content-length says so',
  wrong_content_type: 'sent as text/plain',
  gzip: 'the body is compressed after signing, with content-encoding',
  duplicate: 'sent once more after its success',
  two_at_once: 'sent twice at the same time',
  reordered:
    'held back until the next delivery of the webhook has been sent, but no longer than the delay (default 10 s)',
  delayed: 'held back for the delay (default 5 s)',
  slow_drip: 'its first attempt sends a byte at a time, with the delay (default 100 ms) after each',
  connection_dropped: 'its first attempt ends in the middle of the body',
  wrong_length: 'its first attempt announces one byte more than it sends',
  answer_lost: 'the response to its first attempt is lost, so the delivery is sent again',
}

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

/** Faults that a job gets when it is created. */
export const JOB_FAULTS = ['job_failed', 'completed_with_errors', 'never_done'] as const
export type JobFaultName = (typeof JOB_FAULTS)[number]

export const isExtractionFault = (name: string): name is ExtractionFaultName =>
  Object.hasOwn(EXTRACTION_FAULTS, name)

export const isJobFault = (name: string): name is JobFaultName =>
  (JOB_FAULTS as readonly string[]).includes(name)

/** Name of a fault: of a delivery, or of a change extraction. */
export type FaultName = DeliveryFaultName | ExtractionFaultName

/** Effect of each fault. */
export const FAULTS: Readonly<Record<FaultName, string>> = { ...DELIVERY_FAULTS, ...EXTRACTION_FAULTS }

/** A fault to inject into the next deliveries or change extractions. */
export interface FaultSeed {
  fault: FaultName
  /** Faults of deliveries only: id of the only webhook that the fault applies to. Default: every webhook. */
  webhookId?: string | undefined
  /**
   * How often the fault occurs, 1 to 1,000,000: the number of deliveries; of jobs for `job_failed`,
   * `completed_with_errors` and `never_done`; of requests for the other faults of change extractions. Default: until
   * the fault is removed.
   */
  times?: number | undefined
  /**
   * Delay in milliseconds, 0 to 86,400,000: of the delivery for `reordered` (default 10,000) and `delayed` (default
   * 5,000), and after each byte for `slow_drip` (default 100). Other faults ignore it.
   */
  delay?: number | undefined
  /**
   * For `token_expired`, `html_answer` and `error_with_200`: the only step of a change extraction at which the fault
   * occurs. Default: the next request, whatever its step.
   */
  step?: ExtractionStep | undefined
}

/** An active fault. */
export interface Fault extends FaultSeed {
  readonly id: string
}

/** Active faults. A delivery, job or request gets the oldest one that applies to it. */
export interface Faults {
  /** @throws {WebhookError} `config_invalid` for an invalid fault */
  add(seed: FaultSeed): Fault
  /** Returns the active faults, in the order in which they were added. */
  list(): Fault[]
  /** @returns false if no fault has the id */
  remove(id: string): boolean
  /** Removes all faults. */
  clear(): void
}

export const faultSchema: z.ZodObject = z
  .strictObject({
    fault: z.enum(Object.keys(FAULTS) as [FaultName, ...FaultName[]]),
    webhookId: z.string().min(1).max(64).optional(),
    times: z.int().min(1).max(1_000_000).optional(),
    delay: z.int().min(0).max(86_400_000).optional(),
    step: z.enum(EXTRACTION_STEPS).optional(),
  })
  .refine(({ fault, webhookId }) => webhookId === undefined || !isExtractionFault(fault), {
    path: ['webhookId'],
    error: 'is only for faults of deliveries',
  })
  .refine(({ fault, step }) => step === undefined || occursAtEveryStep(fault), {
    path: ['step'],
    error: 'is only for token_expired, html_answer and error_with_200',
  })

const occursAtEveryStep = (fault: FaultName): boolean =>
  (EVERY_STEP_FAULTS as readonly FaultName[]).includes(fault)

/** What `times` counts. */
export function unitOf(fault: FaultName): 'delivery' | 'job' | 'request' {
  if (!isExtractionFault(fault)) return 'delivery'
  return isJobFault(fault) ? 'job' : 'request'
}

/** {@link Faults} with methods that only deliveries and change extractions use. */
export interface FaultStore extends Faults {
  /** Returns the fault for a new delivery of a webhook, and decrements the fault's `times`, if set. */
  take(webhookId: string): Readonly<Fault> | undefined
  /**
   * Returns the fault for a request of a change extraction, and decrements the fault's `times`, if set.
   *
   * @param names faults that can occur at this request
   */
  takeAt(step: ExtractionStep, names: readonly ExtractionFaultName[]): ExtractionFaultName | undefined
}

/** @param onChange called after every change */
export function createFaults(onChange: () => void): FaultStore {
  const faults = new Map<string, Fault>()

  function takeFirst(applies: (fault: Fault) => boolean): Fault | undefined {
    for (const fault of faults.values()) {
      if (!applies(fault)) continue
      if (fault.times !== undefined && --fault.times === 0) faults.delete(fault.id)
      if (fault.times !== undefined) onChange()
      return fault
    }
    return undefined
  }

  return {
    add(seed) {
      const fault = { id: randomUUID(), ...check<FaultSeed>(faultSchema, seed, 'fault') }
      faults.set(fault.id, fault)
      onChange()
      return { ...fault }
    },
    list: () => [...faults.values()].map((fault) => ({ ...fault })),
    remove(id) {
      const isRemoved = faults.delete(id)
      if (isRemoved) onChange()
      return isRemoved
    },
    clear() {
      faults.clear()
      onChange()
    },
    take: (id) =>
      takeFirst(
        ({ fault, webhookId }) => !isExtractionFault(fault) && (webhookId === undefined || webhookId === id),
      ),
    takeAt(now, names) {
      const taken = takeFirst(
        ({ fault, step }) =>
          (names as readonly string[]).includes(fault) && (step === undefined || step === now),
      )
      return taken?.fault as ExtractionFaultName | undefined
    },
  }
}
