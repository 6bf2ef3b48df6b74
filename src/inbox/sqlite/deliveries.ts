import type { InboxEntry, InboxState } from '../inbox.ts'
import { fromHead, toHead } from '../stored.ts'
import type { Table } from '../table.ts'
import type { Database } from './driver.node.ts'
import type { Store } from './store.ts'

interface Row {
  seq: number
  id: string
  state: InboxState
  at: number
  attempts: number
  error: string | null
  received_at: number
  size: number
  change_types: string
}

interface RowWithContent extends Row {
  head: string
  body: Uint8Array
}

/** Pages of the file that are given back in one go, 4 KiB each. */
const GIVEN_BACK = 2_000

const PENDING = "state IN ('waiting', 'active')"

/** Said by name: SQLite would take the index of the states, and sort all that wait. */
const DUE = 'delivery INDEXED BY delivery_due'

export function createSqliteTable({ write, read, close }: Store): Table {
  return {
    async put(delivery, { maxPending, now }) {
      const { id, rawBody, receivedAt, changeTypes } = delivery
      const head = toHead(delivery)
      return write((db) => {
        if (db.get('SELECT 1 FROM delivery WHERE id = ?', id)) return 'duplicate'
        if (pendingOf(db) >= maxPending) return 'full'
        db.run(
          `INSERT INTO delivery (id, state, at, attempts, received_at, size, change_types)
           VALUES (?, 'waiting', ?, 0, ?, ?, ?)`,
          ...[id, now, receivedAt.getTime(), rawBody.length, JSON.stringify(changeTypes)],
        )
        db.run('INSERT INTO content VALUES (last_insert_rowid(), ?, ?)', head, rawBody)
        return 'stored'
      })
    },

    claim: ({ owner, limit, now, until }) =>
      write((db) => {
        const due = db.all<RowWithContent>(
          `SELECT * FROM ${DUE} JOIN content USING (seq) WHERE ${PENDING} AND at <= ? ORDER BY at LIMIT ?`,
          ...[now, limit],
        )
        for (const { seq } of due)
          db.run(
            "UPDATE delivery SET state = 'active', attempts = attempts + 1, owner = ?, at = ? WHERE seq = ?",
            ...[owner, until, seq],
          )
        const next = db.get<{ at: number | null }>(`SELECT min(at) AS at FROM ${DUE} WHERE ${PENDING}`)
        const claimed = due.map((row) => ({ delivery: toDelivery(row), attempt: row.attempts + 1 }))
        return { claimed, nextDue: next?.at ?? undefined }
      }),

    renew: (owner, ids, until) =>
      write((db) =>
        ids.filter((id) => db.run('UPDATE delivery SET at = ? WHERE id = ? AND owner = ?', until, id, owner)),
      ),

    settle: (owner, id, end, now) =>
      write((db) => {
        const at = end.state === 'waiting' ? end.dueAt : now
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
        const row = db.get<RowWithContent>('SELECT * FROM delivery JOIN content USING (seq) WHERE id = ?', id)
        return row && { ...toEntry(row), delivery: toDelivery(row) }
      }),

    retry: (id, now) =>
      write((db) => {
        const changed = db.run(
          `UPDATE delivery SET state = 'waiting', at = ?, attempts = CASE state WHEN 'dead' THEN 0 ELSE attempts END
           WHERE id = ? AND state IN ('waiting', 'dead')`,
          ...[now, id],
        )
        return changed > 0
      }),

    discard: (id) =>
      write((db) => db.run("DELETE FROM delivery WHERE id = ? AND state IN ('waiting', 'dead')", id) > 0),

    purge: (state, before, limit) =>
      write((db) => {
        const removed = db.run(
          `DELETE FROM delivery WHERE seq IN (
             SELECT seq FROM delivery WHERE state = ? AND state IN ('done', 'dead') AND at <= ? LIMIT ?)`,
          ...[state, before, limit],
        )
        db.exec(`PRAGMA incremental_vacuum(${GIVEN_BACK})`)
        return removed
      }),

    close,
  }
}

const pendingOf = (db: Database): number =>
  db.get<{ number: number }>(`SELECT sum(number) AS number FROM total WHERE ${PENDING}`)?.number ?? 0

const toDelivery = ({ head, id, body, received_at }: RowWithContent) =>
  // One driver gives a Buffer, of which a slice would be no copy.
  fromHead(head, id, new Uint8Array(body.buffer, body.byteOffset, body.length), received_at)

function toEntry({ id, state, attempts, change_types, size, received_at, at, error }: Row): InboxEntry {
  return {
    id,
    state,
    attempts,
    changeTypes: JSON.parse(change_types),
    size,
    receivedAt: new Date(received_at),
    ...(state === 'waiting' && { dueAt: new Date(at) }),
    ...((state === 'done' || state === 'dead') && { endedAt: new Date(at) }),
    ...(error !== null && { error }),
  }
}
