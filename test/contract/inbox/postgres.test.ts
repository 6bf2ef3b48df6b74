import { createPostgresDuplicates, createPostgresInbox } from 'geohook/postgres'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { describeDuplicates } from './duplicates.ts'
import { describeInbox } from './inboxes.ts'

const schema = `geohook_test_${process.pid}_${Date.now()}`
let number = 0

await describeWith(POSTGRES, (connectionString) => {
  const client = new pg.Client({ connectionString })
  beforeAll(() => client.connect())
  afterAll(async () => {
    await client.query(`drop schema if exists ${schema} cascade`)
    await client.end()
  })

  describeInbox({
    name: 'PostgreSQL',
    // A schema takes pg-boss a second to make, so each test has a queue of its own in the same one.
    async create() {
      const queue = `inbox-${number++}`
      return {
        open: (options) => createPostgresInbox({ connectionString, schema, queue, ...options }),
        remove: async () => {},
      }
    },
    leastLease: 10_000,
    isShared: true,
  })

  describeDuplicates({
    name: 'PostgreSQL',
    async create() {
      return {
        open: (options) => createPostgresDuplicates({ connectionString, schema, ...options }),
        remove: async () => {
          await client.query(`drop table if exists ${schema}.duplicates`)
        },
      }
    },
    isShared: true,
  })
})
