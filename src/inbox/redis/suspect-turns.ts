import { acquireSuspectSlot } from '../suspect-slot.ts'

/** Maximum number of suspects that wait in this process. Further ones are delayed in Redis. */
const MAX_WAITING = 100

/** Minimum milliseconds by which a suspect is delayed while another suspect is in progress. */
const DELAY = 500

/** The same with `coalesce`, where a suspect is delayed only if many others wait in the process. */
const LONG_DELAY = 5_000

/** Milliseconds by which to delay a suspect: at most twice the minimum. */
export const delayOfSuspect = (canWait: boolean): number =>
  Math.ceil((canWait ? LONG_DELAY : DELAY) * (1 + Math.random()))

/** The order in which suspects get the slot of this process. */
export interface SuspectTurns {
  /**
   * Resolves with a function that frees the slot, or with undefined if the suspect must be delayed.
   *
   * @param canWait true to wait while other suspects are in progress
   */
  take(canWait: boolean): Promise<(() => void) | undefined>
  /** Ends the wait of all suspects. */
  close(): void
}

export function createSuspectTurns(): SuspectTurns {
  let last = Promise.resolve()
  let waiting = 0
  let closed = false

  return {
    async take(canWait) {
      if (!canWait) return acquireSuspectSlot()
      if (closed || waiting >= MAX_WAITING) return undefined
      const previous = last
      let pass = (): void => {}
      last = new Promise((resolve) => {
        pass = resolve
      })
      waiting++
      await previous
      waiting--
      const free = closed ? undefined : acquireSuspectSlot()
      if (free)
        return () => {
          free()
          pass()
        }
      pass()
      return undefined
    },
    close() {
      closed = true
    },
  }
}
