import { toErrorText } from '../handling.ts'
import type { InboxState } from '../inbox.ts'
import { toHead } from '../stored.ts'
import type { Claim, Claimed, Table } from '../table.ts'
import { watchClock } from './clock.ts'
import { type Database, isOfStore } from './driver.node.ts'
import { createRoomMaker, giveBack, REMOVED_AT_ONCE, type Sized, upToBytes } from './room.ts'
import { type Row, type RowWithContent, toDelivery, toEntry, toWhatIsLeft } from './rows.ts'
import type { Store } from './store.ts'

/** Transactions that make the file smaller after each purge: what stays free in it is used again. */
const GIVE_BACK_TURNS = 4

const PENDING = "state IN ('waiting', 'active')"

/** Said by name: SQLite would take the index of the states, and sort all that wait. */
const DUE = 'delivery INDEXED BY delivery_due'

const WITH_CONTENT = 'delivery LEFT JOIN content USING (seq)'

export function createSqliteTable(store: Store, clock: () => number, maxPendingBytes: number): Table {
  const { write, writeAlone, read, close, reserve } = store
  const timeIn = watchClock(clock)
  const makeRoom = createRoomMaker(store)

  return {
    async put(delivery, { maxPending }) {
      const { id, rawBody, receivedAt, changeTypes } = delivery
      const head = toHead(delivery)
      const putting = store.add(head.length + rawBody.length, (db, requireRoom) => {
        if (db.get('SELECT 1 FROM delivery WHERE id = ?', id)) return 'duplicate'
        const pending = pendingOf(db)
        if (pending.number >= maxPending) return 'full'
        if (pending.bytes + rawBody.length > maxPendingBytes)
          throw new Error(
            `the inbox is full: the delivery has ${rawBody.length} bytes, and ${pending.bytes} of ${maxPendingBytes} (maxPendingBytes) are in it`,
          )
        requireRoom()
        db.run(
          `INSERT INTO delivery (id, state, at, attempts, received_at, size, change_types)
           VALUES (?, 'waiting', ?, 0, ?, ?, ?)`,
          ...[id, timeIn(db), receivedAt.getTime(), rawBody.length, JSON.stringify(changeTypes)],
        )
        db.run('INSERT INTO content VALUES (last_insert_rowid(), ?, ?)', head, rawBody)
        return 'stored'
      })
      return putting.catch((error) => {
        if (reserve.isShort()) makeRoom()
        throw error
      })
    },

    claim: (claim) =>
      writeAlone((db) => {
        const now = timeIn(db)
        const next = db.get<{ seq: number; at: number }>(
          `SELECT seq, at FROM ${DUE} WHERE ${PENDING} AND (state = 'waiting' OR ?)
             AND id NOT IN (SELECT value FROM json_each(?))
           ORDER BY at, seq LIMIT 1`,
          ...[Number(claim.suspects), JSON.stringify([...claim.inProgress])],
        )
        if (!next || next.at > now) return { wait: next && next.at - now }
        return { claimed: take(db, next.seq, claim, now), wait: 0 }
      }),

    renew: (owner, ids, lease) =>
      write((db) => {
        const until = timeIn(db) + lease
        return ids.filter((id) =>
          db.run('UPDATE delivery SET at = ? WHERE id = ? AND owner = ?', until, id, owner),
        )
      }),

    settle: (owner, id, end) =>
      write((db) => {
        const at = timeIn(db) + (end.state === 'waiting' ? end.delay : 0)
        const error = end.state === 'done' ? null : end.error
        const changed = db.run(
          `UPDATE delivery SET state = ?, at = ?, error = coalesce(?, error), owner = NULL
           WHERE id = ? AND owner = ?`,
          ...[end.state, at, error, id, owner],
        )
        return changed > 0
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
        return row && { ...toEntry(row), delivery: toWhatIsLeft(row) }
      }),

    retry: (id) =>
      write((db) => {
        const changed = db.run(
          `UPDATE delivery SET state = 'waiting', at = ?, attempts = CASE state WHEN 'dead' THEN 0 ELSE attempts END
           WHERE id = ? AND state IN ('waiting', 'dead')`,
          ...[timeIn(db), id],
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
        const some = upToBytes(ended, REMOVED_AT_ONCE)
        for (const { seq } of some) db.run('DELETE FROM delivery WHERE seq = ?', seq)
        return some.length
      })
      for (let turn = 0; turn < GIVE_BACK_TURNS && (await write((db) => giveBack(db))) > 0; turn++);
      return removed
    },

    close,
  }
}

const pendingOf = (db: Database): { number: number; bytes: number } =>
  db.get(`SELECT sum(number) AS number, sum(bytes) AS bytes FROM total WHERE ${PENDING}`) ?? {
    number: 0,
    bytes: 0,
  }

/** One that is damaged becomes a dead letter, and does not hold up the others. */
function take(
  db: Database,
  seq: number,
  { owner, lease, attempts }: Claim,
  now: number,
): Claimed | undefined {
  try {
    const row = db.get<RowWithContent>(`SELECT * FROM ${WITH_CONTENT} WHERE seq = ?`, seq) as RowWithContent
    const delivery = toDelivery(row)
    db.run(
      `UPDATE delivery SET state = 'active', attempts = attempts + (attempts < ?), owner = ?, at = ? WHERE seq = ?`,
      ...[attempts, owner, now + lease, seq],
    )
    return { delivery, attempt: row.attempts + 1, isSuspect: row.state === 'active' }
  } catch (error) {
    if (isOfStore(error)) throw error
    db.run(
      "UPDATE delivery SET state = 'dead', at = ?, error = ?, owner = NULL WHERE seq = ?",
      ...[now, toErrorText(`it cannot be read from the file: ${String(error)}`), seq],
    )
    return undefined
  }
}
