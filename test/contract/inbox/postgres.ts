import { createPostgresInbox } from 'geohook/postgres'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import type { InboxEngineKind } from './engine.ts'

interface PostgresKind extends InboxEngineKind {
  connectionString: string
  schema: string
  client: pg.Client
}

/** Runs a suite with inboxes in one schema, and drops the schema at the end. */
export const describePostgres = (suite: (kind: PostgresKind) => void): Promise<void> =>
  describeWith(POSTGRES, (connectionString) => {
    const schema = `geohook_test_${process.pid}_${Date.now()}`
    const client = new pg.Client({ connectionString })
    let number = 0
    beforeAll(() => client.connect())
    afterAll(async () => {
      await client.query(`drop schema if exists ${schema} cascade`)
      await client.end()
    })
    suite({
      name: 'PostgreSQL',
      // The tests share one schema, and each test has its own queue.
      async create() {
        const queue = `inbox-${number++}`
        return {
          open: (options) => createPostgresInbox({ connectionString, schema, queue, ...options }),
          async endLeases() {
            const sql = `update ${schema}.inbox_task set due = 'epoch' where state = 1 and queue = $1`
            await client.query(sql, [queue])
          },
          remove: async () => {},
        }
      },
      minLease: 1_000,
      isShared: true,
      connectionString,
      schema,
      client,
    })
  })
