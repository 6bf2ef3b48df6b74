import type { ListQuery, OperatorMethods, TaskKey } from '../engine-port.ts'
import { readErrorRows, selectErrors, toCondition } from '../filter.ts'
import {
  firstKey,
  readDelivery,
  type StoredContent,
  type StoredRow,
  stateNumber,
  stateNumbers,
  toEntry,
  toItem,
} from '../stored-row.ts'
import type { Database, Value } from './driver.node.ts'
import { releaseNext } from './order.ts'
import { MAX_REMOVED, MAX_REMOVED_BYTES, type Sized, upToBytes, vacuum } from './reclaim-space.ts'
import { AMONG, keysOf } from './task-keys.ts'
import type { Transactions } from './transactions.ts'

/** Maximum number of transactions that shrink the file after each purge. SQLite reuses the free pages that remain. */
const VACUUMS_PER_PURGE = 4

const ROW =
  'seq, handler, id, state, due, attempts, errors, received, size, types, delivery.service, started, owner, passed'

/** True for the tasks of a delivery, or the one with a name. */
const OF_DELIVERY = 'seq = (SELECT seq FROM delivery WHERE id = ?) AND handler = coalesce(?, handler)'

/** Makes tasks due. Dead and done ones get their full number of attempts. */
const RETRY = `UPDATE task SET state = 0, due = ?, rerun = rerun OR state = 2,
  attempts = CASE WHEN state IN (2, 3) THEN 0 ELSE attempts END`

interface ComparedRow extends Sized {
  matches: number | null
}

/**
 * Creates the methods of a table for operators.
 *
 * @param readTime reads the clock in a transaction that writes
 */
export function createOperatorMethods(
  { read, write }: Transactions,
  { clock, readTime }: { clock: () => number; readTime: (db: Database) => number },
): OperatorMethods {
  /** Shrinks the file after tasks were removed. */
  async function shrink(): Promise<void> {
    for (let turn = 0; turn < VACUUMS_PER_PURGE && (await write((db) => vacuum(db))) > 0; turn++);
  }

  return {
    list: (query) =>
      read((db) => {
        const { limit, compared } = query
        const { sql, values, order } = compare(query, clock())
        const rows = db.all<StoredRow & { matches: number | null; number: number }>(
          `SELECT ${ROW}, matches, number FROM (
             SELECT seq, handler, matches, number FROM (SELECT *, row_number() OVER (${order}) AS number FROM (${sql}))
             WHERE matches OR number = ? ${order} LIMIT ?
           ) CROSS JOIN task USING (seq, handler) JOIN delivery USING (seq) ${order}`,
          ...[...values, compared, limit + 1],
        )
        const listed = rows.filter(({ matches }) => matches)
        return {
          listed: listed.map((row) => ({ seq: row.seq, handler: row.handler, entry: toEntry(row) })),
          last: rows.find(({ number }) => number === compared),
        }
      }),

    get: (id) =>
      read((db) => {
        const rows = db.all<StoredRow & StoredContent>(
          `SELECT ${ROW}, head, body FROM task JOIN delivery USING (seq) LEFT JOIN content USING (seq)
           WHERE id = ? ORDER BY handler`,
          id,
        )
        return toItem(rows.map(toEntry), () => readDelivery(rows[0] as StoredContent).delivery)
      }),

    retry: (id, handler) =>
      write(
        (db) =>
          db.run(
            `${RETRY} WHERE ${OF_DELIVERY} AND state IN (0, 3, 4, 5)`,
            ...[readTime(db), id, handler ?? null],
          ) > 0,
      ),

    rerun: (id, handler) =>
      write(
        (db) => db.run(`${RETRY} WHERE ${OF_DELIVERY} AND state = 2`, readTime(db), id, handler ?? null) > 0,
      ),

    discard: (id, handler) =>
      write((db) => {
        const now = readTime(db)
        const isDone =
          'NOT EXISTS (SELECT 1 FROM task AS other WHERE other.seq = task.seq AND other.state <> 2)'
        const discarded = `${OF_DELIVERY} AND (state <> 1 OR due <= ?)
          ${handler === undefined ? `AND (state <> 2 OR ${isDone})` : ''}`
        const values = [id, handler ?? null, now] as const
        releaseNext(
          db,
          db.all<TaskKey>(`SELECT seq, handler FROM task WHERE ${discarded} AND state < 2`, ...values),
          now,
        )
        return db.run(`DELETE FROM task WHERE ${discarded}`, ...values) > 0
      }),

    async changeAll(change, filter, after, limit) {
      const isRemoval = change === 'discard'
      const result = await write((db) => {
        const now = readTime(db)
        const compared = isRemoval ? Math.min(limit, MAX_REMOVED) : limit
        const { sql, values } = compare(
          { state: filter.state, filter, after, compared, order: 'oldest' },
          now,
        )
        const rows = upToBytes(db.all<ComparedRow>(sql, ...values), isRemoval ? MAX_REMOVED_BYTES : Infinity)
        const keys = keysOf(rows.filter(({ matches }) => matches))
        const changed = isRemoval
          ? db.run(`DELETE FROM task WHERE ${AMONG}`, keys)
          : db.run(`${RETRY} WHERE ${AMONG}`, now, keys)
        return { changed, last: rows.at(-1) }
      })
      if (isRemoval && result.changed > 0) await shrink()
      return result
    },

    errors: (limit) =>
      read((db) => {
        // Looked up in the order of the table, which takes a third of the time.
        const dead = 'task INDEXED BY task_ended WHERE state = 3 AND state >= 2'
        const newest = `SELECT due, error_kind FROM (
            SELECT * FROM (SELECT seq, handler FROM ${dead} ORDER BY due DESC LIMIT ?) ORDER BY seq, handler LIMIT ?
          ) CROSS JOIN task USING (seq, handler)`
        const sql = selectErrors({ delivery: 'delivery', dead, newest, toMilliseconds: (time) => time })
        return readErrorRows(db.all(sql, limit, limit))
      }),

    async purge(state, age, limit) {
      const removed = await write((db) => {
        const ended = db.all<Sized>(
          `SELECT seq, handler, size FROM task JOIN delivery USING (seq)
           WHERE state = ? AND state >= 2 AND due <= ? LIMIT ?`,
          ...[stateNumber(state), readTime(db) - age, Math.min(limit, MAX_REMOVED)],
        )
        const batch = upToBytes(ended, MAX_REMOVED_BYTES)
        db.run(`DELETE FROM task WHERE ${AMONG}`, keysOf(batch))
        return batch.length
      })
      await shrink()
      return removed
    },
  }
}

/** Creates SQL that selects the tasks of a state after another one, in order, and compares them with a filter. */
function compare(
  { state, filter, after, order, compared }: Omit<ListQuery, 'limit'>,
  now: number,
): { sql: string; values: Value[]; order: string } {
  const [than, direction] = order === 'oldest' ? ['>', 'ASC'] : ['<', 'DESC']
  const { seq, handler } = after ?? firstKey(order)
  const sorted = `ORDER BY seq ${direction}, handler ${direction}`
  const values: Value[] = []
  const bind = (value: Value): string => {
    values.push(value)
    return '?'
  }
  const ago = (milliseconds: number): string => bind(now - milliseconds)
  // One part for each number, because SQLite would sort the tasks of several.
  const parts = state === undefined ? ['true'] : stateNumbers(state).map((number) => `state = ${number}`)
  const selects = parts.map((part) => {
    const condition = toCondition(filter, { delivery: 'delivery', position: 'instr', bind, ago })
    values.push(seq, handler, compared)
    return `SELECT * FROM (
      SELECT seq, handler, (${condition}) AS matches, (SELECT size FROM delivery WHERE delivery.seq = t.seq) AS size
      FROM task AS t WHERE ${part} AND (seq, handler) ${than} (?, ?) ${sorted} LIMIT ?)`
  })
  values.push(compared)
  return { sql: `${selects.join(' UNION ALL ')} ${sorted} LIMIT ?`, values, order: sorted }
}
