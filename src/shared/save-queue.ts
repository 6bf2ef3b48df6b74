/**
 * Runs one save at a time. Calls during a save share the next save, which stores the newest state.
 *
 * @param save saves the current state
 * @returns a function whose promise resolves when every change made before the call is saved
 */
export function createSaveQueue(save: () => Promise<void> | undefined): () => Promise<void> {
  let running: Promise<void> = Promise.resolve()
  let waiting: Promise<void> | undefined
  return () => {
    waiting ??= running
      .catch(() => {})
      .then(() => {
        waiting = undefined
        running = Promise.resolve(save())
        return running
      })
    return waiting
  }
}
