import type { InboxConfig } from './options.ts'
import type { Table } from './table.ts'

/** Milliseconds between two looks for what has been kept long enough, at most. */
const SWEEP = 60_000

/** So many are removed in one go: nobody else can write meanwhile. */
const AT_ONCE = 1_000

/** Removes what has been kept long enough, again and again. */
export function startSweeping(
  table: Pick<Table, 'purge'>,
  config: InboxConfig,
  clock: () => number,
): { close(): Promise<void> } {
  const { retention, deadRetention, tell } = config
  let closed = false
  let sweeping = Promise.resolve()

  async function sweep(): Promise<void> {
    try {
      await removeAll('done', clock() - retention)
      await removeAll('dead', clock() - deadRetention)
    } catch (error) {
      tell('trouble', { error })
    }
  }

  async function removeAll(state: 'done' | 'dead', before: number): Promise<void> {
    while (!closed && (await table.purge(state, before, AT_ONCE)) > 0);
  }

  const timer = setInterval(
    () => {
      sweeping = sweeping.then(sweep)
    },
    Math.min(SWEEP, retention, deadRetention),
  )
  return {
    async close() {
      closed = true
      clearInterval(timer)
      await sweeping
    },
  }
}
