// The database with the copy: two tables in PostgreSQL if the URL of a database is given, otherwise in SQLite.
import { createRequire } from 'node:module'

const TABLES = [
  `create table if not exists features (
    layer integer, global_id text, object_id text, attributes jsonb, geometry jsonb,
    primary key (layer, global_id))`,
  `create table if not exists attachments (
    layer integer, global_id text, feature text, name text, content_type text, bytes bytea,
    primary key (layer, global_id))`,
]

/**
 * Opens the database. Only one transaction runs at a time, even if several processes share the database. Otherwise, a
 * slow transaction could overwrite newer rows with older ones from its earlier extraction.
 */
export async function openMirror({ url, path }) {
  const mirror = url ? await openPostgres(url) : openSqlite(path)
  await mirror.transaction(async (sql) => {
    for (const table of TABLES) await sql(table)
  })
  return mirror
}

function openSqlite(path) {
  // Node has no built-in SQLite driver before 22.13.
  const Database =
    process.getBuiltinModule('node:sqlite')?.DatabaseSync ?? createRequire(import.meta.url)('better-sqlite3')
  const database = new Database(path)
  database.exec('pragma journal_mode = wal; pragma busy_timeout = 5000') // WAL lets others read during a transaction
  const sql = async (text, ...values) => database.prepare(text).run(...values)
  let last = Promise.resolve()
  return {
    transaction(run) {
      const result = last.then(async () => {
        database.exec('begin immediate')
        try {
          await run(sql)
          database.exec('commit')
        } catch (error) {
          database.exec('rollback')
          throw error
        }
      })
      last = result.catch(() => {})
      return result
    },
    close: () => last.then(() => database.close()),
  }
}

async function openPostgres(connectionString) {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString })
  const ignore = () => {} // the next statement rejects if the connection is lost
  pool.on('error', ignore).on('connect', (client) => client.on('error', ignore))
  return {
    async transaction(run) {
      const client = await pool.connect()
      const sql = (text, ...values) => {
        let number = 0
        return client.query(
          text.replace(/\?/g, () => `$${++number}`),
          values,
        )
      }
      let failed = true
      try {
        await sql('begin')
        await sql("select pg_advisory_xact_lock(hashtext('geohook sync'))")
        await run(sql)
        await sql('commit')
        failed = false
      } finally {
        client.release(failed) // after an error, closes the connection, which rolls back the transaction
      }
    },
    close: () => pool.end(),
  }
}
