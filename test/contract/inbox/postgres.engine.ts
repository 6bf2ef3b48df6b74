import { createPostgresDuplicates, createPostgresRows } from 'geohook/postgres'
import { describeDuplicates } from './duplicates.ts'
import { describeInbox } from './inboxes.ts'
import { describePostgres } from './postgres.ts'
import { describeRows } from './rows.ts'

// The lease test is slow, so it is in `postgres.long.ts`.
await describePostgres(({ connectionString, schema: prefix, client, ...kind }) => {
  describeInbox(kind)

  let number = 0

  describeDuplicates({
    name: 'PostgreSQL',
    async create() {
      const schema = `${prefix}_${number++}`
      return {
        open: (options) => createPostgresDuplicates({ connectionString, schema, ...options }),
        remove: async () => {
          await client.query(`drop schema if exists ${schema} cascade`)
        },
      }
    },
    isShared: true,
  })

  describeRows({
    name: 'PostgreSQL',
    async create() {
      const schema = `${prefix}_${number++}`
      return {
        open: (options) => createPostgresRows({ connectionString, schema, ...options }),
        remove: async () => {
          await client.query(`drop schema if exists ${schema} cascade`)
        },
      }
    },
    isShared: true,
  })
})
