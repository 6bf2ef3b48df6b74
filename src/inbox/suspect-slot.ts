/** Number of takes and attempts in progress in this process, except those of suspects. */
let running = 0

/** How the suspect in progress in this process runs: next to other deliveries, or alone. */
let suspect: 'shared' | 'alone' | undefined

/** Number of loops that wait until nothing else is in progress. */
let waiting = 0

/** Counts a take or an attempt as in progress, until the returned function is called. */
export function enter(): () => void {
  running++
  return () => {
    running--
  }
}

/** True if no take or attempt is in progress in this process, except those of suspects. */
export const isIdle = (): boolean => running === 0

/** Keeps this process from taking anything else, so that a suspect can run alone. The returned function ends that. */
export function awaitTurn(): () => void {
  waiting++
  return () => {
    waiting--
  }
}

/** True while a suspect runs alone, or waits for its turn to: nothing else may be taken. */
export const isReserved = (): boolean => suspect === 'alone' || waiting > 0

/**
 * Reserves this process's only slot for a suspect: a delivery whose lease expired during its last attempt, for example
 * because its own handlers or those of a concurrent delivery terminated the process. Suspects run one at a time: if one
 * of them terminates the process again, it does not interrupt another.
 *
 * @param isAlone true to keep everything else from being taken
 * @returns a function that frees the slot, or undefined if another suspect is in progress
 */
export function acquireSuspectSlot(isAlone: boolean): (() => void) | undefined {
  if (suspect) return undefined
  suspect = isAlone ? 'alone' : 'shared'
  return () => {
    suspect = undefined
  }
}
