import type { DeliveriesTable, EndState } from './engine-port.ts'
import type { InboxConfig } from './inbox-options.ts'

/** Milliseconds between two sweeps: at most, and at least. */
const [SWEEP_INTERVAL, MIN_INTERVAL] = [60_000, 100]

/**
 * Maximum number of entries removed in one transaction. It is limited because the transaction blocks the writes of
 * other processes.
 */
const PURGE_BATCH = 1_000

/** Periodically removes done deliveries, dead letters and unhandled deliveries whose retention has expired. */
export function startRetentionSweep(
  table: Pick<DeliveriesTable, 'purge'>,
  config: InboxConfig,
): { close(): Promise<void> } {
  const { retention, deadRetention, notify } = config
  let closed = false
  let sweeping = Promise.resolve()

  async function sweep(): Promise<void> {
    try {
      await removeAll('done', retention)
      await removeAll('dead', deadRetention)
      await removeAll('unhandled', deadRetention)
    } catch (error) {
      notify('trouble', { error })
    }
  }

  async function removeAll(state: EndState, age: number): Promise<void> {
    while (!closed && (await table.purge(state, age, PURGE_BATCH)) > 0);
  }

  const timer = setInterval(
    () => {
      sweeping = sweeping.then(sweep)
    },
    Math.max(MIN_INTERVAL, Math.min(SWEEP_INTERVAL, retention, deadRetention)),
  )
  return {
    async close() {
      closed = true
      clearInterval(timer)
      await sweeping
    },
  }
}
