import type { InboxState } from '../durable-inbox.ts'
import type { DeliveriesTable } from '../engine-port.ts'
import { forEachState, HELD, readState, STATES, stateNumbers } from '../stored-row.ts'
import { type Query, toMilliseconds } from './database.ts'

type Counts = Awaited<ReturnType<DeliveriesTable['counts']>>

/** A complete count that takes longer than this, in milliseconds, is made in the background. */
const MAX_COUNT_TIME = 20

/** If it is made in the background, numbers up to this are still counted for each call. */
const EXACT = 1_000

/** Milliseconds after which a complete count is repeated in the background, and after which a call waits for it. */
const [COUNT_AGE, MAX_COUNT_AGE] = [2_000, 10_000]

/** Creates a function that counts deliveries. No call waits long, however many there are. */
export function createCounts(query: Query, schema: string, queue: string): DeliveriesTable['counts'] {
  const task = `${schema}.inbox_task`
  const oldestIn = (state: number): string =>
    `(select seq from ${task} where queue = $1 and state = ${state} order by seq limit 1)`
  const OLDEST = `select -1 as state, 0 as number, (
    select ${toMilliseconds('received')} from ${schema}.inbox_delivery
    where seq = least(${oldestIn(0)}, ${oldestIn(HELD)})
  ) as oldest`
  const ALL = `select state::int, count(*) as number, null::float8 as oldest from ${task} where queue = $1 group by state`
  const SOME = stateNumbers()
    .map(
      (state) => `select ${state} as state, count(*) as number, null::float8 as oldest from (
      select from ${task} where queue = $1 and state = ${state} limit ${EXACT + 1}) as counted`,
    )
    .join(' union all ')
  let complete: Counts = forEachState(() => 0)
  let completedAt = -Infinity
  let duration = 0
  let counting: Promise<Counts> | undefined

  async function count(text: string): Promise<Counts> {
    const rows = await query<{ state: number; number: number; oldest: number | null }>(
      `${text} union all ${OLDEST}`,
      [queue],
    )
    const number = (state: InboxState) =>
      rows.reduce((sum, row) => sum + (row.state >= 0 && readState(row.state) === state ? row.number : 0), 0)
    const oldest = rows.find(({ state }) => state === -1)?.oldest
    return { ...forEachState(number), ...(typeof oldest === 'number' && { oldest: new Date(oldest) }) }
  }

  async function countAll(): Promise<Counts> {
    const started = performance.now()
    try {
      complete = await count(ALL)
      completedAt = performance.now()
      duration = completedAt - started
      return complete
    } finally {
      counting = undefined
    }
  }

  return async () => {
    if (duration <= MAX_COUNT_TIME) return countAll()
    const counts = await count(SOME)
    const isLarge = STATES.some((state) => counts[state] > EXACT)
    const age = performance.now() - completedAt
    if (isLarge && age > COUNT_AGE) counting ??= countAll()
    if (isLarge && age > MAX_COUNT_AGE) await counting
    else counting?.catch(() => {})
    for (const state of STATES)
      if (counts[state] > EXACT) counts[state] = Math.max(counts[state], complete[state])
    return counts
  }
}
