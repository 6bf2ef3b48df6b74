import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPostgresInbox } from 'geohook/postgres'
import { createSqliteInbox } from 'geohook/sqlite'
import pg from 'pg'

const { DATABASE_URL = 'postgres://postgres@127.0.0.1:5432/postgres' } = process.env
/** Of 10 deliveries, the first is done and the second is dead. */
const STATE = 'case n % 10 when 0 then 2 when 1 then 3 else 0 end'
const HEAD = JSON.stringify({ contentType: 'application/json', headers: {}, profile: 'service' })
const TYPES = '["FeaturesCreated"]'

/**
 * A store of an engine. `fill` creates deliveries with SQL; `middle` returns a cursor in their middle; `buryAgain`
 * makes the retried dead letters dead again, with one statement; `endAll` makes all waiting deliveries done; `byHand`
 * stores and handles deliveries with statements of 50.
 */
export const STORES = {
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), 'geohook-backlog-'))
    const path = join(folder, 'inbox.db')
    const opened = createSqliteInbox({ path })
    await opened.stats()
    await opened.close()
    const require = createRequire(import.meta.url)
    const Database = process.getBuiltinModule('node:sqlite')?.DatabaseSync ?? require('better-sqlite3')
    const db = new Database(path)
    db.exec('pragma busy_timeout = 5000; pragma synchronous = full')
    const transact = (work) => {
      db.exec('begin immediate')
      const result = work()
      db.exec('commit')
      return result
    }
    let filled = 0
    return {
      open: (options) =>
        createSqliteInbox({ path, maxPending: 10_000_000, maxPendingBytes: '40gb', ...options }),
      async fill(count) {
        filled = count
        db.exec(`begin;
          create temp table given as with recursive given(n) as (select 1 union all select n + 1 from given where n < ${count}) select n from given;
          insert into delivery (id, received, types, size)
            select lower(hex(randomblob(16))), unixepoch() * 1000, '${TYPES}', 100 from given;
          insert into content select seq, '${HEAD}', randomblob(100) from delivery;
          insert into task (seq, state, due) select n, ${STATE}, unixepoch() * 1000 from given;
          drop table given;
          commit; pragma wal_checkpoint(truncate)`)
      },
      middle: async () => String(db.prepare('select max(seq) / 2 as seq from delivery').get().seq),
      async buryAgain() {
        db.exec(`update task set state = 3 where seq % 10 = 1 and seq <= ${filled} and state = 0`)
      },
      async endAll() {
        db.exec('update task set state = 2, due = 0 where state = 0; pragma wal_checkpoint(truncate)')
      },
      async byHand(count, newDelivery) {
        const statement = {
          delivery: db.prepare(
            'insert into delivery (id, received, types, size) values (?, ?, ?, ?) returning seq',
          ),
          content: db.prepare('insert into content values (?, ?, ?)'),
          task: db.prepare('insert into task (seq, state, due) values (?, 0, ?)'),
          due: db.prepare(
            "select seq, body from task indexed by task_ready join content using (seq) where handler = '' and routed = 0 and state = 0 and due <= ? order by due, seq limit 50",
          ),
          take: db.prepare('update task set state = 1, attempts = attempts + 1, due = ? where seq = ?'),
          end: db.prepare('update task set state = 2, due = ? where seq = ? and state = 1'),
        }
        let started = performance.now()
        for (let done = 0; done < count; done += 50) {
          const deliveries = Array.from({ length: 50 }, newDelivery)
          transact(() => {
            for (const { id, rawBody } of deliveries) {
              const { seq } = statement.delivery.get(id, Date.now(), TYPES, rawBody.length)
              statement.content.run(seq, HEAD, rawBody)
              statement.task.run(seq, Date.now())
            }
          })
        }
        const putByHand = (count / (performance.now() - started)) * 1_000
        started = performance.now()
        for (let done = 0; done < count; done += 50) {
          const taken = transact(() => {
            const rows = statement.due.all(Date.now())
            for (const { seq } of rows) statement.take.run(Date.now() + 30_000, seq)
            return rows
          })
          transact(() => {
            for (const { seq } of taken) statement.end.run(Date.now(), seq)
          })
        }
        return { putByHand, handleByHand: (count / (performance.now() - started)) * 1_000 }
      },
      async remove() {
        db.close()
        await rm(folder, { recursive: true })
      },
    }
  },

  async postgres() {
    const schema = `geohook_backlog_${randomUUID().replaceAll('-', '')}`
    const client = new pg.Client({ connectionString: DATABASE_URL })
    await client.connect()
    const opened = createPostgresInbox({ connectionString: DATABASE_URL, schema })
    await opened.stats()
    await opened.close()
    const [task, delivery] = [`${schema}.inbox_task`, `${schema}.inbox_delivery`]
    let filled = 0
    return {
      open: (options) =>
        createPostgresInbox({ connectionString: DATABASE_URL, schema, maxPending: 10_000_000, ...options }),
      async fill(count) {
        filled = count
        await client.query(
          `insert into ${delivery} (queue, id, received, types, head, size, body)
          select 'inbox', md5(n::text), now(), $1, $2, 100, decode(repeat('ab', 100), 'hex')
          from generate_series(1, $3::int) n order by n`,
          [TYPES, HEAD, count],
        )
        await client.query(
          `insert into ${task} (seq, queue, state, due) select n, 'inbox', ${STATE}, now() from generate_series(1, $1::int) n`,
          [count],
        )
        await client.query(`vacuum analyze ${task}`)
        await client.query(`vacuum analyze ${delivery}`)
      },
      middle: async () =>
        String((await client.query(`select max(seq) / 2 as seq from ${delivery}`)).rows[0].seq),
      async buryAgain() {
        await client.query(
          `update ${task} set state = 3 where seq % 10 = 1 and seq <= ${filled} and state = 0`,
        )
      },
      async endAll() {
        await client.query(`update ${task} set state = 2, due = now() - interval '1 day' where state = 0`)
        await client.query(`vacuum analyze ${task}`)
      },
      async byHand(count, newDelivery) {
        let started = performance.now()
        for (let done = 0; done < count; done += 50) {
          const deliveries = Array.from({ length: 50 }, newDelivery)
          const bodies = deliveries.map((_, index) => `$${index + 4}::bytea`).join(', ')
          await client.query(
            `with d as (
              insert into ${delivery} (queue, id, received, types, head, size, body)
              select 'hand', id, now(), $2, $3, 1024, body from unnest($1::text[], array[${bodies}]) as given (id, body)
              on conflict do nothing returning seq
            ) insert into ${task} (seq, queue, state, due) select seq, 'hand', 0, now() from d`,
            [
              deliveries.map(({ id }) => id),
              TYPES,
              HEAD,
              ...deliveries.map(({ rawBody }) => Buffer.from(rawBody)),
            ],
          )
        }
        const putByHand = (count / (performance.now() - started)) * 1_000
        started = performance.now()
        for (let done = 0; done < count; done += 50) {
          const { rows } = await client.query(
            `with due as (
              select seq from ${task} where queue = 'hand' and handler = '' and not routed and state = 0 and due <= now()
              order by due, seq limit 50 for update skip locked
            ), taken as (
              update ${task} t set state = 1, attempts = attempts + 1, due = now() + interval '30 s'
              from due where t.seq = due.seq returning t.seq
            ) select seq, body from taken join ${delivery} using (seq)`,
          )
          await client.query(`update ${task} set state = 2, due = now() where seq = any($1) and state = 1`, [
            rows.map(({ seq }) => seq),
          ])
        }
        return { putByHand, handleByHand: (count / (performance.now() - started)) * 1_000 }
      },
      async remove() {
        await client.query(`drop schema ${schema} cascade`)
        await client.end()
      },
    }
  },
}
