/** Milliseconds after which deliveries that are still pending are a fault. */
const TIMEOUT = 60_000

/**
 * Returns a function that resolves as soon as all deliveries are handled. After the timeout, it reports the deliveries
 * that are left. Later calls do not wait for these, so that the run ends in spite of the fault.
 *
 * @param {{ stats(): Promise<{ waiting: number, active: number }> }} inbox
 * @param {string[]} troubles failures of the inbox, which the function takes from here
 * @returns {() => Promise<string[]>} the troubles so far
 */
export function createDrain(inbox, troubles, timeout = TIMEOUT) {
  let stuck = 0
  return async () => {
    const until = performance.now() + timeout
    for (;;) {
      const { waiting, active } = await inbox.stats()
      if (waiting + active <= stuck) break
      if (performance.now() > until) {
        stuck = waiting + active
        troubles.push(
          `inbox: ${waiting} deliveries waiting and ${active} active after ${timeout / 1_000} seconds`,
        )
        break
      }
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return troubles.splice(0)
  }
}
