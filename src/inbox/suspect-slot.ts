/** Whether a suspect is in progress in this process. */
let isOccupied = false

/**
 * Reserves this process's only place for a suspect: a delivery whose lease ran out during its last attempt. It may have
 * ended its process, or only run at the same time as the delivery that did. With one at a time, a delivery that ends
 * its process again takes no other suspect with it.
 *
 * @returns a function that frees the place, or undefined if another suspect is in progress
 */
export function acquireSuspectSlot(): (() => void) | undefined {
  if (isOccupied) return undefined
  isOccupied = true
  return () => {
    isOccupied = false
  }
}
