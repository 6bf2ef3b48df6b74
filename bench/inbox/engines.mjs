import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { DATABASE_URL = 'postgres://postgres@127.0.0.1:5432/postgres' } = process.env
/** Options of an inbox that can store all deliveries of a run. */
const LARGE = { maxPending: 1_000_000 }

const createFolder = () => mkdtemp(join(tmpdir(), 'geohook-bench-'))

/** For each engine, a function that creates a store, and returns its durability and how to open and remove it. */
export const ENGINES = {
  none: async () => ({ durability: 'no inbox' }),

  memory: async () => ({
    entry: 'inbox',
    factory: 'createMemoryInbox',
    options: LARGE,
    durability: 'in memory',
  }),

  async sqlite() {
    const folder = await createFolder()
    return {
      entry: 'sqlite',
      factory: 'createSqliteInbox',
      options: { ...LARGE, path: join(folder, 'inbox.db') },
      durability: 'synchronous=FULL',
      remove: () => rm(folder, { recursive: true }),
    }
  },

  async postgres() {
    const { default: pg } = await import('pg')
    const client = new pg.Client({ connectionString: DATABASE_URL, connectionTimeoutMillis: 3_000 })
    await client.connect()
    const show = async (name) => (await client.query(`show ${name}`)).rows[0][name]
    const schema = `geohook_bench_${randomUUID().replaceAll('-', '')}`
    return {
      entry: 'postgres',
      factory: 'createPostgresInbox',
      options: { ...LARGE, connectionString: DATABASE_URL, schema },
      durability: `synchronous_commit=${await show('synchronous_commit')} fsync=${await show('fsync')}`,
      async remove() {
        await client.query(`drop schema if exists ${schema} cascade`)
        await client.end()
      },
    }
  },
}
