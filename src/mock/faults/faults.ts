import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import {
  type AdminFaultName,
  DELIVERY_FAULTS,
  EXTRACTION_FAULTS,
  type ExtractionFaultName,
  FAULTS,
  type FaultName,
} from '../../shared/faults.ts'
import { check } from '../schemas.ts'
import type { WebhookChanges } from '../state/webhooks.ts'

export * from '../../shared/faults.ts'

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

const isDeliveryFault = (name: string): boolean => Object.hasOwn(DELIVERY_FAULTS, name)

export const isJobFault = (name: string): name is JobFaultName =>
  (JOB_FAULTS as readonly string[]).includes(name)

/** Members of a webhook that an edit can ignore. */
export const IGNORABLE_MEMBERS: readonly (keyof WebhookChanges)[] = [
  'name',
  'changeTypes',
  'signatureKey',
  'hookUrl',
  'active',
  'contentType',
  'scheduleInfo',
  'payloadFormat',
  'config',
]

/** A fault to inject into the next deliveries, change extractions or requests of the administration. */
export interface FaultSeed {
  fault: FaultName
  /** Faults of deliveries only: id of the only webhook that the fault applies to. Default: every webhook. */
  webhookId?: string | undefined
  /**
   * How often the fault occurs, 1 to 1,000,000: the number of deliveries; of jobs for `job_failed`,
   * `completed_with_errors` and `never_done`; of requests for the other faults of change extractions and
   * of the administration. Default: until the fault is removed.
   */
  times?: number | undefined
  /**
   * Delay in milliseconds, 0 to 86,400,000: of the delivery for `reordered` (default 10,000) and `delayed` (default
   * 5,000), of the response for `admin_slow` (default 5,000), and after each byte for `slow_drip` (default 100). Other
   * faults ignore it.
   */
  delay?: number | undefined
  /**
   * For `token_expired`, `html_answer` and `error_with_200`: the only step of a change extraction at which the fault
   * occurs. Default: the next request, whatever its step.
   */
  step?: ExtractionStep | undefined
  /** For `edit_member_ignored`: the member of the webhook that an edit ignores. Default `'hookUrl'`. */
  member?: keyof WebhookChanges | undefined
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
    member: z.enum(IGNORABLE_MEMBERS).optional(),
  })
  .refine(({ fault, webhookId }) => webhookId === undefined || isDeliveryFault(fault), {
    path: ['webhookId'],
    error: 'is only for faults of deliveries',
  })
  .refine(({ fault, step }) => step === undefined || occursAtEveryStep(fault), {
    path: ['step'],
    error: 'is only for token_expired, html_answer and error_with_200',
  })
  .refine(({ fault, member }) => member === undefined || fault === 'edit_member_ignored', {
    path: ['member'],
    error: 'is only for edit_member_ignored',
  })

const occursAtEveryStep = (fault: FaultName): boolean =>
  (EVERY_STEP_FAULTS as readonly FaultName[]).includes(fault)

/** What `times` counts. */
export function unitOf(fault: FaultName): 'delivery' | 'job' | 'request' {
  if (isDeliveryFault(fault)) return 'delivery'
  return isJobFault(fault) ? 'job' : 'request'
}

/** {@link Faults} with methods that only the mock itself uses. */
export interface FaultStore extends Faults {
  /** Returns the fault for a new delivery of a webhook, and decrements the fault's `times`, if set. */
  take(webhookId: string): Readonly<Fault> | undefined
  /**
   * Returns the fault for a request of a change extraction, and decrements the fault's `times`, if set.
   *
   * @param names faults that can occur at this request
   */
  takeAt(step: ExtractionStep, names: readonly ExtractionFaultName[]): ExtractionFaultName | undefined
  /** Returns the oldest of these faults for a request of the administration, and decrements its `times`, if set. */
  takeAny(...names: readonly AdminFaultName[]): Readonly<Fault> | undefined
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
        ({ fault, webhookId }) => isDeliveryFault(fault) && (webhookId === undefined || webhookId === id),
      ),
    takeAt(now, names) {
      const taken = takeFirst(
        ({ fault, step }) =>
          (names as readonly string[]).includes(fault) && (step === undefined || step === now),
      )
      return taken?.fault as ExtractionFaultName | undefined
    },
    takeAny: (...names) => takeFirst(({ fault }) => (names as readonly string[]).includes(fault)),
  }
}
