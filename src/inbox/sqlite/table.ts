import type { InboxState } from '../durable-inbox.ts'
import type { AttemptEnd, DeliveriesTable, TakenDelivery, TakeRequest } from '../engine-port.ts'
import { toErrorText } from '../error-text.ts'
import { toHead } from '../serialize.ts'
import { watchClock } from './clock.ts'
import { type Row, type RowWithContent, toDelivery, toDeliveryOrRemains, toEntry } from './decode.ts'
import { type Database, isStoreError } from './driver.node.ts'
import { createSqliteGenerations } from './generations.ts'
import { createReclaimer, MAX_REMOVED_BYTES, type Sized, upToBytes, vacuum } from './reclaim-space.ts'
import type { Transactions } from './transactions.ts'

/** Maximum number of transactions that shrink the file after each purge. SQLite reuses the free pages that remain. */
const VACUUMS_PER_PURGE = 4

const PENDING = "state IN ('waiting', 'active')"

/** Names the index explicitly. Otherwise SQLite would use the index on `state` and sort all waiting deliveries. */
const DUE = 'delivery INDEXED BY delivery_due'

const WITH_CONTENT = 'delivery LEFT JOIN content USING (seq)'

/** Creates a table of deliveries in an inbox file. */
export function createSqliteTable(
  transactions: Transactions,
  clock: () => number,
  maxPendingBytes: number,
): DeliveriesTable {
  const { write, writeAlone, read, close } = transactions
  const readTime = watchClock(clock)
  const reclaimSpace = createReclaimer(transactions)

  return {
    generations: createSqliteGenerations(transactions),

    async put(delivery, { maxPending }) {
      const { id, rawBody, receivedAt, changeTypes } = delivery
      const head = toHead(delivery)
      const putting = transactions.add(head.length + rawBody.length, (db, requireSpace) => {
        if (db.get('SELECT 1 FROM delivery WHERE id = ?', id)) return 'duplicate'
        const pending = pendingOf(db)
        if (pending.number >= maxPending) return 'full'
        if (pending.bytes + rawBody.length > maxPendingBytes)
          throw new Error(
            `the inbox is full: the delivery has ${rawBody.length} bytes, and ${pending.bytes} of ${maxPendingBytes} (maxPendingBytes) are in it`,
          )
        requireSpace()
        db.run(
          `INSERT INTO delivery (id, state, at, attempts, received_at, size, change_types)
           VALUES (?, 'waiting', ?, 0, ?, ?, ?)`,
          ...[id, readTime(db), receivedAt.getTime(), rawBody.length, JSON.stringify(changeTypes)],
        )
        db.run('INSERT INTO content VALUES (last_insert_rowid(), ?, ?)', head, rawBody)
        return 'stored'
      })
      return putting.catch((error) => {
        reclaimSpace()
        throw error
      })
    },

    take: (request) =>
      writeAlone((db) => {
        const now = readTime(db)
        const next = db.get<{ seq: number; at: number }>(
          `SELECT seq, at FROM ${DUE} WHERE ${PENDING} AND (state = 'waiting' OR ?)
             AND id NOT IN (SELECT value FROM json_each(?))
           ORDER BY at, seq LIMIT 1`,
          ...[Number(request.suspects), JSON.stringify([...request.inProgress])],
        )
        if (!next || next.at > now) return { wait: next && next.at - now }
        return { taken: takeRow(db, next.seq, request, now), wait: 0 }
      }),

    renew: (owner, ids, lease) =>
      write((db) => {
        const until = readTime(db) + lease
        return ids.filter((id) =>
          db.run('UPDATE delivery SET at = ? WHERE id = ? AND owner = ?', until, id, owner),
        )
      }),

    endAttempts: (owner, ends) =>
      write((db) => {
        const now = readTime(db)
        return ends.flatMap(({ id, end }) => (endAttempt(db, owner, id, end, now) ? id : []))
      }),

    counts: () =>
      read((db) => {
        const counts = { waiting: 0, active: 0, done: 0, dead: 0 }
        for (const { state, number } of db.all<{ state: InboxState; number: number }>('SELECT * FROM total'))
          counts[state] = number
        const oldest = db.get<Row>("SELECT * FROM delivery WHERE state = 'waiting' ORDER BY seq LIMIT 1")
        return { ...counts, ...(oldest && { oldest: new Date(oldest.received_at) }) }
      }),

    list: ({ state, limit, offset }) =>
      read((db) => {
        const [condition, values] = state ? ['WHERE state = ?', [state]] : ['', []]
        const rows = db.all<Row>(
          `SELECT * FROM delivery ${condition} ORDER BY seq LIMIT ? OFFSET ?`,
          ...[...values, limit + 1, offset],
        )
        return rows.map(toEntry)
      }),

    get: (id) =>
      read((db) => {
        const row = db.get<RowWithContent>(`SELECT * FROM ${WITH_CONTENT} WHERE id = ?`, id)
        return row && { ...toEntry(row), delivery: toDeliveryOrRemains(row) }
      }),

    retry: (id) =>
      write((db) => {
        const changed = db.run(
          `UPDATE delivery SET state = 'waiting', at = ?, attempts = CASE state WHEN 'dead' THEN 0 ELSE attempts END
           WHERE id = ? AND state IN ('waiting', 'dead')`,
          ...[readTime(db), id],
        )
        return changed > 0
      }),

    discard: (id) =>
      write((db) => db.run("DELETE FROM delivery WHERE id = ? AND state IN ('waiting', 'dead')", id) > 0),

    async purge(state, before, limit) {
      const removed = await write((db) => {
        const ended = db.all<Sized>(
          `SELECT seq, size FROM delivery
           WHERE state = ? AND state IN ('done', 'dead') AND at <= ? LIMIT ?`,
          ...[state, before, limit],
        )
        const batch = upToBytes(ended, MAX_REMOVED_BYTES)
        for (const { seq } of batch) db.run('DELETE FROM delivery WHERE seq = ?', seq)
        return batch.length
      })
      for (let turn = 0; turn < VACUUMS_PER_PURGE && (await write((db) => vacuum(db))) > 0; turn++);
      return removed
    },

    close,
  }
}

const pendingOf = (db: Database): { number: number; bytes: number } =>
  db.getOne(`SELECT sum(number) AS number, sum(bytes) AS bytes FROM total WHERE ${PENDING}`)

/** @returns false if the owner has lost the delivery */
function endAttempt(db: Database, owner: string, id: string, end: AttemptEnd, now: number): boolean {
  const at = now + (end.state === 'waiting' ? end.delay : 0)
  const error = end.state === 'done' ? null : end.error
  const changed = db.run(
    `UPDATE delivery SET state = ?, at = ?, error = coalesce(?, error), owner = NULL
     WHERE id = ? AND owner = ?`,
    ...[end.state, at, error, id, owner],
  )
  return changed > 0
}

/** Takes a delivery. A damaged row becomes a dead letter, so that it does not block the others. */
function takeRow(
  db: Database,
  seq: number,
  { owner, lease, attempts }: TakeRequest,
  now: number,
): TakenDelivery | undefined {
  try {
    const row = db.getOne<RowWithContent>(`SELECT * FROM ${WITH_CONTENT} WHERE seq = ?`, seq)
    const delivery = toDelivery(row)
    db.run(
      `UPDATE delivery SET state = 'active', attempts = attempts + (attempts < ?), owner = ?, at = ? WHERE seq = ?`,
      ...[attempts, owner, now + lease, seq],
    )
    return { delivery, attempt: row.attempts + 1, isSuspect: row.state === 'active' }
  } catch (error) {
    if (isStoreError(error)) throw error
    db.run(
      "UPDATE delivery SET state = 'dead', at = ?, error = ?, owner = NULL WHERE seq = ?",
      ...[now, toErrorText(`it cannot be read from the file: ${String(error)}`), seq],
    )
    return undefined
  }
}
