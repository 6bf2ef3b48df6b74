import type { HandleResult, StoredDelivery } from '../../receiver/types.ts'
import { createCallQueue, type QueuedDelivery } from '../call-queue.ts'
import type { DeliveryHandler } from '../durable-inbox.ts'
import type { InboxConfig } from '../inbox-options.ts'
import type { WorkConfig } from '../method-options.ts'
import { runAttempt } from '../run-attempt.ts'
import type { HeldJob, Locks } from './locks.ts'
import type { SuccessMarks } from './success-marks.ts'

/** An attempt to handle the delivery of a job. */
export interface JobAttempt extends HeldJob {
  delivery: StoredDelivery
  /** Number of the attempt, from 1. */
  attempt: number
  isSuspect: boolean
}

/** Runs the handlers for jobs, one by one or for several jobs together. */
export interface JobCalls {
  /** True if the worker can take another job. */
  hasRoom(): boolean
  /** Resolves when the handlers have succeeded. Rejects with their error. */
  handle(attempt: JobAttempt): Promise<HandleResult>
  /** Begins calls without waiting for further jobs. */
  close(): void
}

/** Dependencies of {@link createJobCalls}. */
export interface JobCallsOptions {
  receiver: DeliveryHandler
  config: Pick<InboxConfig, 'timeout'>
  work: WorkConfig
  marks: Pick<SuccessMarks, 'mark' | 'close'>
  locks: Locks
  /** Called when there may be room for another job. */
  onEnd(): void
}

interface Member extends JobAttempt, QueuedDelivery {
  call?: { members: readonly Member[]; stop: AbortController }
  resolve(result: HandleResult): void
  reject(error: unknown): void
}

export function createJobCalls({ receiver, config, work, marks, locks, onEnd }: JobCallsOptions): JobCalls {
  const { timeout } = config
  const calls = createCallQueue<Member>({ ...work, run, onEnd })

  async function run(begun: readonly Member[]): Promise<void> {
    if (begun.some(({ job }) => locks.isOld(job))) await locks.keepHeld(begun)
    for (const member of begun) if (!isHeld(member)) member.reject(reasonOf(member))
    const members = begun.filter(isHeld)
    if (members.length > 0) await call(members)
  }

  async function call(members: readonly Member[]): Promise<void> {
    const call = { members, stop: new AbortController() }
    for (const member of members) member.call = call
    const [{ attempt = 1 } = {}] = members
    const deliveries = members.map(({ delivery }) => delivery)
    const options = { attempt, timeout, stop: call.stop.signal, isTogether: work.wait !== undefined }
    try {
      const results = await runAttempt(receiver, deliveries, options)
      // BullMQ records each end on its own, so first record all successes at once.
      if (members.length > 1) await marks.mark(members.filter(isHeld).map(({ job }) => job))
      for (const [index, member] of members.entries()) {
        if (isHeld(member)) member.resolve(results[index] ?? 'handled')
        else member.reject(reasonOf(member))
      }
    } catch (error) {
      for (const member of members) member.reject(error)
    }
  }

  /** Stops an attempt, unless its call also handles jobs that no other process has taken. */
  function lose(member: Member): void {
    const reason = reasonOf(member)
    if (calls.remove(member)) member.reject(reason)
    else if (!member.call?.members.some(isHeld)) member.call?.stop.abort(reason)
  }

  return {
    hasRoom: calls.hasRoom,
    handle: (attempt) =>
      new Promise((resolve, reject) => {
        const isAlone = attempt.isSuspect || attempt.attempt > 1
        const member: Member = { ...attempt, isAlone, resolve, reject }
        calls.add(member)
        const { signal } = member.stop
        if (signal.aborted) lose(member)
        else signal.addEventListener('abort', () => lose(member))
      }),
    close() {
      calls.flush()
      marks.close()
      locks.close()
    },
  }
}

const isHeld = ({ stop }: Member): boolean => !stop.signal.aborted

const reasonOf = ({ stop }: Member): unknown => stop.signal.reason
