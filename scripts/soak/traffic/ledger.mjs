/**
 * Records which deliveries the receivers acknowledged, and compares them with those that handlers completed. No
 * process is killed, so each acknowledged delivery must be handled exactly once, and no other.
 */
export function createLedger() {
  const acknowledged = new Map()
  const handled = new Map()
  let count = 0
  return {
    /** Number of deliveries that were acknowledged and handled. */
    get count() {
      return count
    },
    /** @param {string} id @param {string} from name of the adapter */
    acknowledge: (id, from) => acknowledged.set(id, from),
    /** @param {readonly string[]} ids */
    handle(ids) {
      for (const id of ids) handled.set(id, (handled.get(id) ?? 0) + 1)
    },
    /** Compares, and forgets everything. Call it while no delivery is pending. @returns {string[]} faults */
    settle() {
      const faults = []
      for (const [id, from] of acknowledged) {
        const times = handled.get(id) ?? 0
        if (times !== 1) faults.push(`${from}: delivery ${id} was acknowledged and handled ${times} times`)
        else count++
        handled.delete(id)
      }
      for (const [id, times] of handled)
        faults.push(`delivery ${id} was handled ${times} times, but not acknowledged`)
      acknowledged.clear()
      handled.clear()
      return faults
    },
  }
}
