/** Whether a suspect is in progress in this process. */
let isOccupied = false

/**
 * A suspect is a delivery whose lease ran out during its last attempt: it may have ended its process, or it only ran
 * beside the one that did. One suspect at a time runs in a process, so a delivery that ends its process again takes no
 * other suspect with it.
 *
 * @returns a function to call when the suspect has ended; undefined if another one is in progress
 */
export function enterAsSuspect(): (() => void) | undefined {
  if (isOccupied) return undefined
  isOccupied = true
  return () => {
    isOccupied = false
  }
}
