import {
  ANNOUNCED,
  type Announcement,
  type AttemptEnd,
  type DeliveriesTable,
  type EndedAttempt,
  type HeldTask,
  type QueueSettings,
  type TakenDelivery,
  type TaskKey,
} from '../engine-port.ts'
import { serviceKey, serviceOf } from '../group-key.ts'
import { createRouting } from '../routing.ts'
import { toAsciiJson, toHead, toTypes } from '../serialize.ts'
import {
  forEachState,
  readAnnouncement,
  readDelivery,
  readState,
  readStrings,
  readUnhandled,
  type StoredContent,
  stateNumber,
  stateNumbers,
  toErrors,
  toKind,
  toWorkerColumns,
  type UnhandledRow,
  type WorkerRow,
} from '../stored-row.ts'
import { watchClock } from './clock.ts'
import type { Database, Value } from './driver.node.ts'
import { createSqliteGenerations } from './generations.ts'
import { createOperatorMethods } from './operator.ts'
import { createCheck, holdBlocked, KEY, type OrderedTask, passTasks, releaseNext, WINDOW } from './order.ts'
import { createReclaimer, type Sized, upToBytes } from './reclaim-space.ts'
import { AMONG, keysOf } from './task-keys.ts'
import type { Transactions } from './transactions.ts'

/** Columns of a task that a worker takes, with its content. `+ 0` turns a damaged value into a number. */
const TAKEN = `SELECT seq, handler, id, received, types, attempts + 0 AS attempts, token + 0 AS token, alone + 0 AS alone, rerun, errors, head, body
  FROM task JOIN delivery USING (seq) LEFT JOIN content USING (seq)`

interface TakenRow extends StoredContent, HeldTask {
  attempts: number
  alone: number
  rerun: number
}

export function createSqliteTable(
  transactions: Transactions,
  clock: () => number,
  maxPendingBytes: number,
): DeliveriesTable {
  const { write, read, close, reserve } = transactions
  const readTime = watchClock(clock)
  const reclaimSpace = createReclaimer(transactions)
  const checkHeld = createCheck()

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
            toTypes(changeTypes),
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

    announce: (worker) =>
      write((db) => {
        const now = readTime(db)
        db.run('DELETE FROM worker WHERE abs(seen - ?) > ?', now, ANNOUNCED)
        const insert = 'INSERT OR REPLACE INTO worker (id, seen, types, names) VALUES (?, ?, ?, ?)'
        db.run(insert, worker.id, now, ...toWorkerColumns(worker))
      }),

    withdraw: (id) => write((db) => void db.run('DELETE FROM worker WHERE id = ?', id)),

    workers: () => read((db) => readWorkers(db, clock())),

    unhandled: ({ within = Number.MAX_SAFE_INTEGER, after = { endedAt: 0, seq: 0, handler: '' }, limit }) =>
      read((db) => {
        const rows = db.all<UnhandledRow>(
          `SELECT seq, handler, due AS endedAt, size, types, routed
           FROM task INDEXED BY task_ended JOIN delivery USING (seq)
           WHERE state = 4 AND state >= 2 AND due >= ? AND (due, seq, handler) > (?, ?, ?)
           ORDER BY due, seq, handler LIMIT ?`,
          ...[Math.max(after.endedAt, clock() - within), after.endedAt, after.seq, after.handler, limit],
        )
        return rows.map(readUnhandled)
      }),

    route: (limit, own) =>
      write((db) => {
        const now = readTime(db)
        const routeOf = createRouting([...readWorkers(db, now), ...(own ? [own] : [])])
        if (!routeOf) return 0
        const unrouted = db.all<{ seq: number; types: string }>(
          `SELECT seq, types FROM task INDEXED BY task_ready JOIN delivery USING (seq)
           WHERE state = 0 AND handler = '' AND routed = 0 AND task.due <= ? ORDER BY task.due, seq LIMIT ?`,
          ...[now, limit],
        )
        const keys = unrouted.map(({ seq }) => ({ seq, handler: '' }))
        releaseNext(db, keys, now, 'held.routed = 0')
        for (const { seq, types } of unrouted) {
          const { names, isUnnamed } = routeOf(readStrings(types))
          for (const name of names)
            db.run(
              `INSERT OR IGNORE INTO task (seq, handler, service, state, due, routed, passed, rerun)
               SELECT seq, ?, service, 0, due, 1, passed, rerun FROM task WHERE seq = ? AND handler = ''`,
              ...[name, seq],
            )
          const change = isUnnamed ? 'UPDATE task SET routed = 1' : 'DELETE FROM task'
          db.run(`${change} WHERE seq = ? AND handler = ''`, seq)
        }
        return unrouted.length
      }),

    reroute: (seqs) =>
      write((db) => {
        db.run(
          `UPDATE task SET state = 0, due = ? WHERE ${AMONG} AND state = 4 AND routed = 0`,
          readTime(db),
          keysOf(seqs.map((seq) => ({ seq, handler: '' }))),
        )
      }),

    take: ({ owner, handler, lease, limit, maxBytes, seqs, areNames, order }) =>
      write((db) => {
        if (readSettings(db).paused) return { taken: [] }
        const now = readTime(db)
        const values = { owner, now, lease }
        if (order) passTasks(db, order.hold, now)
        checkHeld(db, now)
        const routed = areNames || createRouting(readWorkers(db, now)) ? [1] : [0, 1]
        if (seqs) {
          const unhandled = `SELECT seq, handler, ${KEY} FROM task
            WHERE seq = ? AND handler = ? AND state = 4 AND routed IN (SELECT value FROM json_each(?))`
          const given = seqs.flatMap(
            (seq) => db.get<OrderedTask>(unhandled, seq, handler, JSON.stringify(routed)) ?? [],
          )
          const free = order ? holdBlocked(db, handler, given) : given
          return { taken: free.map((task) => takeTask(db, task, values)) }
        }
        const due = routed.flatMap((value) =>
          db.all<Sized & OrderedTask & { due: number }>(
            `SELECT seq, handler, task.due + 0 AS due, size, ${KEY} FROM task INDEXED BY task_ready JOIN delivery USING (seq)
             WHERE state = 0 AND handler = ? AND routed = ? ORDER BY task.due, seq LIMIT ?`,
            ...[handler, value, order ? Math.max(WINDOW, limit) : limit],
          ),
        )
        const ready = due.filter(({ due }) => due <= now).sort((a, b) => a.due - b.due || a.seq - b.seq)
        const free = order ? holdBlocked(db, handler, ready) : ready
        const rows = upToBytes(free.slice(0, limit), maxBytes)
        const taken = rows.map((row) => takeTask(db, row, values))
        if (taken.length === 0 && free.length < ready.length) return { taken, wait: 0 }
        const next = Math.min(...due.flatMap(({ due }) => (due > now ? due - now : [])))
        return { taken, wait: next === Infinity ? undefined : next }
      }),

    takeSuspect: ({ owner, lease, attempts, except, isAlone }) =>
      write((db) => {
        if (readSettings(db).paused) return undefined
        const now = readTime(db)
        const suspect = db.get<TaskKey & { attempt: number }>(
          `SELECT seq, handler, attempts + alone AS attempt FROM task INDEXED BY task_active JOIN delivery USING (seq)
           WHERE state = 1 AND due <= ? AND handler IN (SELECT value FROM json_each(?))
             AND id || ' ' || handler NOT IN (SELECT value FROM json_each(?))
           ORDER BY due LIMIT 1`,
          ...[now, JSON.stringify([...attempts.keys()]), JSON.stringify([...except])],
        )
        if (!suspect) return undefined
        const max = attempts.get(suspect.handler) ?? 1
        if (suspect.attempt === max && !isAlone) return 'last'
        return takeTask(db, suspect, { owner, now, lease, max })
      }),

    startAlone: (owner, held, lease) =>
      write((db) => {
        const until = readTime(db) + lease
        return db.run(`UPDATE task SET alone = 1, due = ? WHERE ${OWNED}`, until, ...heldBy(owner, held)) > 0
      }),

    renew: (owner, held, lease) =>
      write((db) => {
        const until = readTime(db) + lease
        return held.map(
          (one) => db.run(`UPDATE task SET due = ? WHERE ${OWNED}`, until, ...heldBy(owner, one)) > 0,
        )
      }),

    endAttempts: (owner, ends) =>
      write((db) => {
        const now = readTime(db)
        const bytes = ends.reduce(
          (sum, { end }) => sum + ('errors' in end ? toErrors(end.errors).length : 0),
          0,
        )
        // On a full disk, errors would use up the space that is reserved for results.
        const isFull = bytes > 0 && !reserve.hasSpace(bytes)
        const areEnded = ends.map((ended) => endAttempt(db, owner, ended, { now, isFull }))
        releaseNext(db, ends, now, 'ended.state <> 0 OR held.seq < ended.seq')
        return areEnded
      }),

    settings: () => read(readSettings),

    set: (name, value) =>
      write((db) => void db.run(`UPDATE queue SET ${name} = ?`, value === undefined ? null : Number(value))),

    counts: () =>
      read((db) => {
        const totals = db.all<{ state: number; number: number }>('SELECT * FROM total')
        const counts = forEachState((name) =>
          totals.reduce((sum, { state, number }) => sum + (readState(state) === name ? number : 0), 0),
        )
        const [oldest] = stateNumbers('waiting')
          .flatMap((state) => {
            const first =
              'SELECT seq, received FROM task JOIN delivery USING (seq) WHERE state = ? ORDER BY seq LIMIT 1'
            return db.get<{ seq: number; received: number }>(first, state) ?? []
          })
          .sort((a, b) => a.seq - b.seq)
        return { ...counts, ...(oldest && { oldest: new Date(oldest.received) }) }
      }),

    ...createOperatorMethods(transactions, { clock, readTime }),

    close,
  }
}

function readSettings(db: Database): QueueSettings {
  const query = 'SELECT paused, concurrency FROM queue'
  const { paused, concurrency } = db.getOne<{ paused: number; concurrency: number | null }>(query)
  return { paused: paused !== 0, concurrency: concurrency ?? undefined }
}

const readWorkers = (db: Database, now: number): Announcement[] =>
  db
    .all<WorkerRow>('SELECT id, types, names FROM worker WHERE abs(seen - ?) <= ?', now, ANNOUNCED)
    .map(readAnnouncement)

/** True for the task that an owner holds. */
const OWNED = 'seq = ? AND handler = ? AND token = ? AND owner = ?'

const heldBy = (owner: string, { seq, handler, token }: HeldTask): Value[] => [seq, handler, token, owner]

/** The last error of a dead letter whose real error does not fit on the disk. */
const NOT_STORED = { error: 'not stored: disk full' }

/** Returns the columns `errors` and `error_kind` after an attempt. Null keeps a column. */
function toErrorColumns(end: AttemptEnd, isFull: boolean): [string | null, string | null] {
  if (!('errors' in end) || (isFull && end.state === 'waiting')) return [null, null]
  const errors = isFull ? [...end.errors.slice(0, -1), NOT_STORED] : end.errors
  return [toErrors(errors), toKind({ ...end, errors })]
}

/** @returns false if the owner has lost the task */
function endAttempt(
  db: Database,
  owner: string,
  ended: EndedAttempt,
  { now, isFull }: { now: number; isFull: boolean },
): boolean {
  const { seq, handler, token, end } = ended
  const due = now + (end.state === 'waiting' ? end.delay : 0)
  const state = stateNumber(end.state)
  // A worker that starts later can have a name for an unhandled delivery.
  const changed = db.run(
    `UPDATE task SET state = ?, due = ?, errors = coalesce(?, errors), error_kind = coalesce(?, error_kind), owner = NULL,
       alone = 0, attempts = coalesce(?, attempts), passed = passed AND ? IN (0, 4),
       failing_since = CASE ? WHEN 0 THEN iif(service IS NULL, NULL, coalesce(failing_since, ?)) WHEN 4 THEN failing_since END,
       routed = routed AND (? <> 4 OR EXISTS (SELECT 1 FROM task AS other WHERE other.seq = task.seq AND other.handler <> ''))
     WHERE ${OWNED}`,
    ...[
      state,
      due,
      ...toErrorColumns(end, isFull),
      'attempts' in end ? end.attempts : null,
      state,
      state,
      now,
      state,
      ...heldBy(owner, ended),
    ],
  )
  const isRecorded = 'SELECT 1 FROM task WHERE seq = ? AND handler = ? AND token = ? AND owner IS NULL'
  return changed > 0 || db.get(isRecorded, seq, handler, token) !== undefined
}

interface TakeValues {
  owner: string
  now: number
  lease: number
  /** Maximum number of attempts of a suspect. Absent for other tasks. */
  max?: number
}

function takeTask(
  db: Database,
  { seq, handler }: TaskKey,
  { owner, now, lease, max = Infinity }: TakeValues,
): TakenDelivery {
  const row = db.getOne<TakenRow>(`${TAKEN} WHERE seq = ? AND handler = ?`, seq, handler)
  const isSuspect = max < Infinity
  const attempt = row.attempts + (isSuspect ? row.alone : 1)
  const token = row.token + 1
  db.run(
    `UPDATE task SET state = 1, attempts = ?, token = ?, alone = ?, owner = ?, started = ?, due = ?
     WHERE seq = ? AND handler = ?`,
    ...[Math.min(attempt, max), token, Number(attempt > max), owner, now, now + lease, seq, handler],
  )
  return { seq, handler, token, attempt, isSuspect, isRerun: Boolean(row.rerun), ...readDelivery(row) }
}
