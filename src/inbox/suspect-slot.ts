/** True while a suspect is in progress in this process. */
let isOccupied = false

/**
 * Reserves this process's only slot for a suspect: a delivery whose lease ran out during its last attempt, because its
 * own handler or a concurrent one terminated the process. With one suspect at a time, a handler that terminates the
 * process again interrupts no other suspect.
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
