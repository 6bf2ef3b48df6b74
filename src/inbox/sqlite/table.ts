import {
  ANNOUNCED,
  type AttemptEnd,
  type DeliveriesTable,
  type HeldDelivery,
  type QueueSettings,
  type TakenDelivery,
} from '../engine-port.ts'
import { serviceKey, serviceOf } from '../group-key.ts'
import { toAsciiJson, toHead } from '../serialize.ts'
import {
  forEachState,
  readAnnouncement,
  readDelivery,
  readUnhandled,
  STATES,
  type StoredContent,
  type StoredRow,
  stateNumber,
  toEntry,
  toErrors,
  type UnhandledRow,
} from '../stored-row.ts'
import { watchClock } from './clock.ts'
import type { Database, Value } from './driver.node.ts'
import { createSqliteGenerations } from './generations.ts'
import {
  createReclaimer,
  MAX_REMOVED,
  MAX_REMOVED_BYTES,
  type Sized,
  upToBytes,
  vacuum,
} from './reclaim-space.ts'
import type { Transactions } from './transactions.ts'

/** Maximum number of transactions that shrink the file after each purge. SQLite reuses the free pages that remain. */
const VACUUMS_PER_PURGE = 4

const ROW = 'seq, id, state, due, attempts, errors, received, size, types, delivery.service, started, owner'

/** Columns of a task that a worker takes, with its content. `+ 0` turns a damaged value into a number. */
const TAKEN = `SELECT seq, id, received, types, attempts + 0 AS attempts, token + 0 AS token, alone + 0 AS alone, errors, head, body
  FROM task JOIN delivery USING (seq) LEFT JOIN content USING (seq)`

/**
 * Condition for many rows. In a savepoint, each statement takes longer than the one before, so they must not be changed
 * one by one.
 */
const AMONG = 'seq IN (SELECT value FROM json_each(?))'

const seqsOf = (rows: readonly { seq: number }[]): string => JSON.stringify(rows.map(({ seq }) => seq))

interface TakenRow extends StoredContent, HeldDelivery {
  attempts: number
  alone: number
}

/** Creates a table of deliveries in an inbox file. */
export function createSqliteTable(
  transactions: Transactions,
  clock: () => number,
  maxPendingBytes: number,
): DeliveriesTable {
  const { write, read, close } = transactions
  const readTime = watchClock(clock)
  const reclaimSpace = createReclaimer(transactions)

  /** Selects entries in the order of `seq`. */
  const list = (db: Database, state: number | undefined, page: string, ...values: Value[]): StoredRow[] =>
    db.all<StoredRow>(
      `SELECT ${ROW} FROM task JOIN delivery USING (seq) WHERE ${state === undefined ? '' : `state = ${state} AND`} ${page}`,
      ...values,
    )

  return {
    generations: createSqliteGenerations(transactions),

    open: () => read(() => {}),

    async put(delivery, { maxPending }) {
      const { id, rawBody, receivedAt, changeTypes, events, tenant } = delivery
      const head = toHead(delivery)
      const service = serviceOf(events) ?? null
      const putting = transactions.add(head.length + rawBody.length, (db, requireSpace) => {
        const pending = db.getOne<{ isStored: number | null; number: number; bytes: number }>(
          `SELECT (SELECT 1 FROM delivery WHERE id = ?) AS isStored, sum(number) AS number, sum(bytes) AS bytes
           FROM total WHERE state IN (0, 1, 5)`,
          id,
        )
        if (pending.isStored) return 'duplicate'
        if (pending.number >= maxPending) return 'full'
        if (pending.bytes + rawBody.length > maxPendingBytes)
          throw new Error(
            `the inbox is full: the delivery has ${rawBody.length} bytes, and ${pending.bytes} of ${maxPendingBytes} (maxPendingBytes) are in it`,
          )
        requireSpace()
        const now = readTime(db)
        db.run(
          'INSERT INTO delivery (id, received, tenant, service, types, size) VALUES (?, ?, ?, ?, ?, ?)',
          ...[
            id,
            receivedAt.getTime(),
            tenant === undefined ? null : toAsciiJson(tenant),
            service,
            toAsciiJson(changeTypes),
            rawBody.length,
          ],
        )
        db.run('INSERT INTO content VALUES (last_insert_rowid(), ?, ?)', head, rawBody)
        db.run(
          'INSERT INTO task (seq, service, state, due) VALUES (last_insert_rowid(), ?, 0, ?)',
          ...[service && serviceKey(service, tenant), now],
        )
        return 'stored'
      })
      return putting.catch((error) => {
        reclaimSpace()
        throw error
      })
    },

    announce: ({ id, changeTypes }) =>
      write((db) => {
        const now = readTime(db)
        db.run('DELETE FROM worker WHERE abs(seen - ?) > ?', now, ANNOUNCED)
        const types = changeTypes ? toAsciiJson(changeTypes) : null
        db.run('INSERT OR REPLACE INTO worker (id, types, seen) VALUES (?, ?, ?)', id, types, now)
      }),

    withdraw: (id) =>
      write((db) => {
        db.run('DELETE FROM worker WHERE id = ?', id)
      }),

    workers: () =>
      read((db) => {
        const query = 'SELECT id, types FROM worker WHERE abs(seen - ?) <= ?'
        return db.all<{ id: string; types: string | null }>(query, clock(), ANNOUNCED).map(readAnnouncement)
      }),

    unhandled: ({ within = Number.MAX_SAFE_INTEGER, after = { endedAt: 0, seq: 0 }, limit }) =>
      read((db) => {
        const rows = db.all<UnhandledRow>(
          `SELECT seq, due AS endedAt, size, types FROM task INDEXED BY task_ended JOIN delivery USING (seq)
           WHERE state = 4 AND state >= 2 AND due >= ? AND (due, seq) > (?, ?) ORDER BY due, seq LIMIT ?`,
          ...[Math.max(after.endedAt, clock() - within), after.endedAt, after.seq, limit],
        )
        return rows.map(readUnhandled)
      }),

    take: ({ owner, lease, limit, maxBytes, seqs }) =>
      write((db) => {
        if (readSettings(db).paused) return { taken: [] }
        const now = readTime(db)
        if (seqs) {
          const unhandled = "SELECT 1 FROM task WHERE seq = ? AND handler = '' AND state = 4"
          const given = seqs.filter((seq) => db.get(unhandled, seq))
          return { taken: given.map((seq) => takeTask(db, seq, { owner, now, lease, isSuspect: false })) }
        }
        const due = db.all<Sized & { due: number }>(
          `SELECT seq, task.due + 0 AS due, size FROM task INDEXED BY task_due JOIN delivery USING (seq)
           WHERE handler = '' AND state = 0 ORDER BY task.due, seq LIMIT ?`,
          limit,
        )
        const rows = upToBytes(
          due.filter(({ due }) => due <= now),
          maxBytes,
        )
        const taken = rows.map(({ seq }) => takeTask(db, seq, { owner, now, lease, isSuspect: false }))
        const next = due.find(({ due }) => due > now)
        return { taken, wait: next && next.due - now }
      }),

    takeSuspect: ({ owner, lease, attempts, except, isAlone }) =>
      write((db) => {
        if (readSettings(db).paused) return undefined
        const now = readTime(db)
        const suspect = db.get<{ seq: number; attempt: number }>(
          `SELECT seq, attempts + alone AS attempt FROM task INDEXED BY task_active JOIN delivery USING (seq)
           WHERE state = 1 AND due <= ? AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY due LIMIT 1`,
          ...[now, JSON.stringify([...except])],
        )
        if (!suspect) return undefined
        if (suspect.attempt === attempts && !isAlone) return 'last'
        return takeTask(db, suspect.seq, { owner, now, lease, isSuspect: true, max: attempts })
      }),

    startAlone: (owner, { seq, token }, lease) =>
      write((db) => {
        const values = [readTime(db) + lease, seq, token, owner]
        return (
          db.run('UPDATE task SET alone = 1, due = ? WHERE seq = ? AND token = ? AND owner = ?', ...values) >
          0
        )
      }),

    renew: (owner, held, lease) =>
      write((db) => {
        const until = readTime(db) + lease
        return held.flatMap(({ seq, token }) =>
          db.run(
            'UPDATE task SET due = ? WHERE seq = ? AND token = ? AND owner = ?',
            until,
            seq,
            token,
            owner,
          ) > 0
            ? seq
            : [],
        )
      }),

    endAttempts: (owner, ends) =>
      write((db) => {
        const now = readTime(db)
        return ends.flatMap((ended) => (endAttempt(db, owner, ended, ended.end, now) ? ended.seq : []))
      }),

    settings: () => read(readSettings),

    set: (name, value) =>
      write((db) => {
        db.run(`UPDATE queue SET ${name} = ?`, value === undefined ? null : Number(value))
      }),

    counts: () =>
      read((db) => {
        const totals = db.all<{ state: number; number: number }>('SELECT * FROM total')
        const counts = forEachState((name) => totals.find(({ state }) => STATES[state] === name)?.number ?? 0)
        const [oldest] = list(db, 0, 'true ORDER BY seq LIMIT 1')
        return { ...counts, ...(oldest && { oldest: new Date(oldest.received) }) }
      }),

    list: ({ state, limit, order, after }) =>
      read((db) => {
        const [condition, direction] = order === 'oldest' ? ['seq > ?', 'ASC'] : ['seq < ?', 'DESC']
        const from = after ?? (order === 'oldest' ? 0 : Number.MAX_SAFE_INTEGER)
        const page = `${condition} ORDER BY seq ${direction} LIMIT ?`
        const rows = list(db, state && stateNumber(state), page, from, limit + 1)
        return rows.map((row) => ({ seq: row.seq, entry: toEntry(row) }))
      }),

    get: (id) =>
      read((db) => {
        const row = db.get<StoredRow & StoredContent>(
          `SELECT ${ROW}, head, body FROM task JOIN delivery USING (seq) LEFT JOIN content USING (seq) WHERE id = ?`,
          id,
        )
        return row && { ...toEntry(row), delivery: readDelivery(row).delivery }
      }),

    retry: (id) =>
      write((db) => {
        const changed = db.run(
          `UPDATE task SET state = 0, due = ?, attempts = CASE state WHEN 3 THEN 0 ELSE attempts END
           WHERE seq = (SELECT seq FROM delivery WHERE id = ?) AND state IN (0, 3, 4)`,
          ...[readTime(db), id],
        )
        return changed > 0
      }),

    retryAll: (state, after, limit) =>
      write((db) => {
        const ended = db.all<{ seq: number }>(
          "SELECT seq FROM task WHERE state = ? AND handler = '' AND seq > ? ORDER BY seq LIMIT ?",
          ...[stateNumber(state), after, limit],
        )
        db.run(
          `UPDATE task SET state = 0, due = ?, attempts = CASE state WHEN 3 THEN 0 ELSE attempts END
           WHERE ${AMONG} AND handler = ''`,
          ...[readTime(db), seqsOf(ended)],
        )
        return ended.map(({ seq }) => seq)
      }),

    discard: (id) =>
      write((db) => {
        const query =
          'DELETE FROM task WHERE seq = (SELECT seq FROM delivery WHERE id = ?) AND state IN (0, 3, 4)'
        return db.run(query, id) > 0
      }),

    async purge(state, age, limit) {
      const removed = await write((db) => {
        const ended = db.all<Sized>(
          `SELECT seq, size FROM task JOIN delivery USING (seq)
           WHERE state = ? AND state >= 2 AND due <= ? LIMIT ?`,
          ...[stateNumber(state), readTime(db) - age, Math.min(limit, MAX_REMOVED)],
        )
        const batch = upToBytes(ended, MAX_REMOVED_BYTES)
        db.run(`DELETE FROM task WHERE ${AMONG}`, seqsOf(batch))
        return batch.length
      })
      for (let turn = 0; turn < VACUUMS_PER_PURGE && (await write((db) => vacuum(db))) > 0; turn++);
      return removed
    },

    close,
  }
}

function readSettings(db: Database): QueueSettings {
  const query = 'SELECT paused, concurrency FROM queue'
  const { paused, concurrency } = db.getOne<{ paused: number; concurrency: number | null }>(query)
  return { paused: paused !== 0, concurrency: concurrency ?? undefined }
}

/** @returns false if the owner has lost the delivery */
function endAttempt(
  db: Database,
  owner: string,
  { seq, token }: HeldDelivery,
  end: AttemptEnd,
  now: number,
): boolean {
  const due = now + (end.state === 'waiting' ? end.delay : 0)
  const errors = 'errors' in end ? toErrors(end.errors) : null
  const changed = db.run(
    `UPDATE task SET state = ?, due = ?, errors = coalesce(?, errors), owner = NULL, alone = 0,
       attempts = coalesce(?, attempts)
     WHERE seq = ? AND token = ? AND owner = ?`,
    ...[stateNumber(end.state), due, errors, 'attempts' in end ? end.attempts : null, seq, token, owner],
  )
  return (
    changed > 0 ||
    db.get('SELECT 1 FROM task WHERE seq = ? AND token = ? AND owner IS NULL', seq, token) !== undefined
  )
}

function takeTask(
  db: Database,
  seq: number,
  {
    owner,
    now,
    lease,
    isSuspect,
    max = Infinity,
  }: { owner: string; now: number; lease: number; isSuspect: boolean; max?: number },
): TakenDelivery {
  const row = db.getOne<TakenRow>(`${TAKEN} WHERE seq = ?`, seq)
  const attempt = row.attempts + (isSuspect ? row.alone : 1)
  const token = row.token + 1
  db.run(
    'UPDATE task SET state = 1, attempts = ?, token = ?, alone = ?, owner = ?, started = ?, due = ? WHERE seq = ?',
    ...[Math.min(attempt, max), token, Number(attempt > max), owner, now, now + lease, seq],
  )
  return { seq, token, attempt, isSuspect, ...readDelivery(row) }
}
