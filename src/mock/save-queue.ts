/**
 * Saves one state after another, never two at once. Those that wait for the save under way share the one after it,
 * which has the newest state.
 *
 * @returns a function whose promise resolves when everything that had changed before its call is saved
 */
export function createSaver(save: () => Promise<void> | undefined): () => Promise<void> {
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
