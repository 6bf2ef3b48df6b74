import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createPrivatePostgres, findPostgres } from '../../helpers/private-postgres.ts'
import { createPrivateRedis, findRedis } from '../../helpers/private-redis.ts'
import { POSTGRES } from '../../helpers/servers.ts'
import { openDatabase } from '../../helpers/sqlite.ts'

/** A server of a database, which has on its disk all that it has confirmed. */
export interface KillableServer {
  /** SIGKILL for all its processes. */
  kill(): Promise<void>
  start(): Promise<void>
}

/** What a run needs of a store. */
export interface EngineNeeds {
  /** Its server is killed. */
  isKilled: boolean
}

/** A store for one run. */
export interface Engine {
  /** The entry of the package, and what it exports. */
  entry: string
  factory: string
  options: Record<string, unknown>
  /** Rejects where what the store has on disk is not sound. Nobody uses the store meanwhile. */
  requireSound(): Promise<void>
  /** Its server, if the run has one of its own that it may kill. */
  server?: KillableServer
  remove(): Promise<void>
}

const makeFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'geohook-crash-'))
const sound = async (): Promise<void> => {}

async function sqlite(): Promise<Engine> {
  const folder = await makeFolder()
  const path = join(folder, 'inbox.db')
  return {
    entry: 'geohook/sqlite',
    factory: 'createSqliteInbox',
    options: { path, lease: 3_000 },
    async requireSound() {
      const database = openDatabase(path)
      try {
        for (const check of ['quick_check', 'integrity_check']) {
          const found = database.prepare(`PRAGMA ${check}`).get() as Record<string, unknown>
          if (found[check] !== 'ok') throw new Error(`${check}: ${found[check]}`)
        }
      } finally {
        database.close()
      }
    },
    remove: () => rm(folder, { recursive: true }),
  }
}

/** A server of its own if it is to be killed. It syncs each commit to the disk, as PostgreSQL does by default. */
async function postgres({ isKilled }: EngineNeeds): Promise<Engine> {
  const options = { lease: 10_000 }
  if (isKilled) {
    const programs = findPostgres()
    if (!programs) throw new Error('there is no PostgreSQL server on this machine')
    const server = await createPrivatePostgres(programs)
    await server.start()
    return {
      entry: 'geohook/postgres',
      factory: 'createPostgresInbox',
      options: { ...options, connectionString: server.url },
      requireSound: sound,
      server,
      remove: server.remove,
    }
  }
  const schema = `geohook_crash_${randomUUID().replaceAll('-', '')}`
  return {
    entry: 'geohook/postgres',
    factory: 'createPostgresInbox',
    options: { ...options, connectionString: POSTGRES.url, schema },
    requireSound: sound,
    async remove() {
      const client = new pg.Client({ connectionString: POSTGRES.url })
      await client.connect()
      await client.query(`drop schema if exists ${schema} cascade`)
      await client.end()
    },
  }
}

/** A server of its own, which writes every command to its append-only file: the shared one may write nothing. */
async function redis(): Promise<Engine> {
  const program = findRedis()
  if (!program) throw new Error('there is no redis-server on this machine')
  const server = await createPrivateRedis(program)
  await server.start()
  return {
    entry: 'geohook/redis',
    factory: 'createRedisInbox',
    options: { url: server.url, lease: 3_000 },
    requireSound: sound,
    server: { kill: server.crash, start: server.start },
    remove: server.remove,
  }
}

export const ENGINES = { sqlite, postgres, redis } as const

export type EngineName = keyof typeof ENGINES
