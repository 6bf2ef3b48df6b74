import { createPostgresDuplicates, createPostgresRows } from 'geohook/postgres'
import { describeDuplicates } from './duplicates.ts'
import { describeInbox } from './inboxes.ts'
import { describePostgres } from './postgres.ts'
import { describeRows } from './rows.ts'

// The lease test is slow, so it is in `postgres.long.ts`.
await describePostgres(({ connectionString, schema, client, ...kind }) => {
  describeInbox(kind)

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

  describeRows({
    name: 'PostgreSQL',
    async create() {
      return {
        open: (options) => createPostgresRows({ connectionString, schema, ...options }),
        remove: async () => {
          await client.query(`drop table if exists ${schema}.known_rows`)
        },
      }
    },
    isShared: true,
  })
})
