/** True while a suspect is in progress in this process. */
let isOccupied = false

/**
 * Reserves this process's only slot for a suspect: a delivery whose lease expired during its last attempt, for example
 * because its own handlers or those of a concurrent delivery terminated the process. Suspects run one at a time: if one
 * of them terminates the process again, it does not interrupt another.
 *
 * @returns a function that frees the slot, or undefined if another suspect is in progress
 */
export function acquireSuspectSlot(): (() => void) | undefined {
  if (isOccupied) return undefined
  isOccupied = true
  return () => {
    isOccupied = false
  }
}
