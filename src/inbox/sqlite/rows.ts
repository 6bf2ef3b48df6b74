import { type RowLayer, type RowStore, type SelectedRow, toKnownRow } from '../rows.ts'
import type { Database } from './driver.node.ts'
import type { Transactions } from './transactions.ts'

/** Maximum number of rows removed in one transaction. It is limited because the transaction blocks the event loop. */
const REMOVED_PER_TRANSACTION = 2_000

const COLUMNS = 'key, object_id AS objectId, generation, value'

export function createSqliteRowsTable(transactions: Transactions, maxRows: number): RowStore {
  const { read, write, add, close } = transactions
  return {
    read: (layer, keys, objectIds) =>
      read((db) => {
        const number = find(db, layer)
        if (number === undefined) return []
        const select = (column: string, ids: readonly string[]): SelectedRow[] =>
          db.all<SelectedRow>(
            `SELECT ${COLUMNS} FROM known_row
             WHERE layer = ? AND ${column} IN (SELECT value FROM json_each(?))`,
            ...[number, JSON.stringify(ids)],
          )
        const rows = [...select('key', keys), ...(objectIds.length > 0 ? select('object_id', objectIds) : [])]
        return [...new Map(rows.map((row) => [row.key, toKnownRow(row)])).values()]
      }),

    write: (layer, rows, generation) =>
      add(
        rows.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0),
        (db, requireSpace) => {
          requireSpace()
          const number = find(db, layer) ?? create(db, layer)
          let added = 0
          for (const { key, objectId, value } of rows) {
            const known = db.get<{ generation: number }>(
              'SELECT generation FROM known_row WHERE layer = ? AND key = ?',
              ...[number, key],
            )
            if (known && known.generation > generation) continue
            if (!known) added++
            // A new row gets a new `written`, so the table is in the order in which rows were written.
            db.run(
              `INSERT OR REPLACE INTO known_row (layer, key, object_id, generation, value)
               VALUES (?, ?, ?, ?, ?)`,
              ...[number, key, objectId ?? null, generation, value ?? null],
            )
          }
          evict(db, added, maxRows)
        },
      ),

    async forget(service) {
      for (let removed = REMOVED_PER_TRANSACTION; removed === REMOVED_PER_TRANSACTION; )
        removed = await write((db) => {
          const number = db.run(
            `DELETE FROM known_row WHERE written IN (
               SELECT written FROM known_row
               WHERE layer IN (SELECT number FROM known_layer WHERE service = ?) LIMIT ?)`,
            ...[service, REMOVED_PER_TRANSACTION],
          )
          db.run('UPDATE known_total SET number = number - ?', number)
          return number
        })
    },

    close,
  }
}

const find = (db: Database, { service, id }: RowLayer): number | undefined =>
  db.get<{ number: number }>('SELECT number FROM known_layer WHERE service = ? AND id = ?', service, id)
    ?.number

function create(db: Database, layer: RowLayer): number {
  db.run('INSERT INTO known_layer (service, id) VALUES (?, ?)', layer.service, layer.id)
  return find(db, layer) as number
}

/** Counts added rows, and removes the rows above the limit. A lower limit than before takes several calls. */
function evict(db: Database, added: number, maxRows: number): void {
  const total = db.getOne<{ number: number }>('SELECT number FROM known_total').number + added
  const excess = Math.min(total - maxRows, REMOVED_PER_TRANSACTION)
  const removed =
    excess > 0
      ? db.run(
          'DELETE FROM known_row WHERE written IN (SELECT written FROM known_row ORDER BY written LIMIT ?)',
          excess,
        )
      : 0
  if (added !== removed) db.run('UPDATE known_total SET number = ?', total - removed)
}
