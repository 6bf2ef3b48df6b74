import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { check } from '../schemas.ts'

/** Name of a fault. */
export type FaultName =
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

/** Effect of each fault. */
export const FAULTS: Readonly<Record<FaultName, string>> = {
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

/** A fault to inject into the next deliveries. */
export interface FaultSeed {
  fault: FaultName
  /** Id of the only webhook that the fault applies to. Default: every webhook. */
  webhookId?: string | undefined
  /** Number of deliveries that get the fault, 1 to 1,000,000. Default: all until the fault is removed. */
  times?: number | undefined
  /**
   * Delay in milliseconds, 0 to 86,400,000: of the delivery for `reordered` (default 10,000) and `delayed` (default
   * 5,000), and after each byte for `slow_drip` (default 100). Other faults ignore it.
   */
  delay?: number | undefined
}

/** An active fault. */
export interface Fault extends FaultSeed {
  readonly id: string
}

/** Active faults. A delivery gets the oldest one that applies to its webhook. */
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

export const faultSchema: z.ZodObject = z.strictObject({
  fault: z.enum(Object.keys(FAULTS) as [FaultName, ...FaultName[]]),
  webhookId: z.string().min(1).max(64).optional(),
  times: z.int().min(1).max(1_000_000).optional(),
  delay: z.int().min(0).max(86_400_000).optional(),
})

/** {@link Faults} with a method that only the engine uses. */
export interface FaultStore extends Faults {
  /** Returns the fault for a new delivery of a webhook, and decrements the fault's `times`, if set. */
  take(webhookId: string): Readonly<Fault> | undefined
}

/** @param onChange called after every change */
export function createFaults(onChange: () => void): FaultStore {
  const faults = new Map<string, Fault>()
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
    take(webhookId) {
      for (const fault of faults.values()) {
        if (fault.webhookId !== undefined && fault.webhookId !== webhookId) continue
        if (fault.times !== undefined && --fault.times === 0) faults.delete(fault.id)
        if (fault.times !== undefined) onChange()
        return fault
      }
      return undefined
    },
  }
}
