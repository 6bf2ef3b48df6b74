import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createPrivatePostgres, findPostgres } from '../../helpers/private-postgres.ts'
import { POSTGRES } from '../../helpers/servers.ts'
import { openDatabase } from '../../helpers/sqlite.ts'

/** A database server that writes each commit to disk before it confirms the commit. */
export interface KillableServer {
  /** Sends SIGKILL to all processes of the server. */
  kill(): Promise<void>
  start(): Promise<void>
}

/** Requirements of a run. */
export interface EngineNeeds {
  /** True if the run kills the server. */
  isKilled: boolean
}

/** A store for one run. */
export interface Engine {
  /** Name of the entry point. It exports a function with the name `factory`. */
  entry: string
  factory: string
  options: Record<string, unknown>
  /** Rejects if the store is damaged on disk. No process may use the store during the check. */
  requireSound(): Promise<void>
  /** The server, if the run has a private one. */
  server?: KillableServer
  remove(): Promise<void>
}

const createTemporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'geohook-crash-'))
const checkNothing = async (): Promise<void> => {}

async function sqlite(): Promise<Engine> {
  const folder = await createTemporaryFolder()
  const path = join(folder, 'inbox.db')
  return {
    entry: 'geohook/sqlite',
    factory: 'createSqliteInbox',
    options: { path, lease: 6_000 },
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

/** Uses a private server if the run kills the server. PostgreSQL syncs each commit to disk by default. */
async function postgres({ isKilled }: EngineNeeds): Promise<Engine> {
  const options = { lease: 6_000 }
  if (isKilled) {
    const programs = findPostgres()
    if (!programs) throw new Error('there is no PostgreSQL server on this machine')
    const server = await createPrivatePostgres(programs)
    await server.start()
    return {
      entry: 'geohook/postgres',
      factory: 'createPostgresInbox',
      options: { ...options, connectionString: server.url },
      requireSound: checkNothing,
      server,
      remove: server.remove,
    }
  }
  const schema = `geohook_crash_${randomUUID().replaceAll('-', '')}`
  return {
    entry: 'geohook/postgres',
    factory: 'createPostgresInbox',
    options: { ...options, connectionString: POSTGRES.url, schema },
    requireSound: checkNothing,
    async remove() {
      const client = new pg.Client({ connectionString: POSTGRES.url })
      await client.connect()
      await client.query(`drop schema if exists ${schema} cascade`)
      await client.end()
    },
  }
}

export const ENGINES = { sqlite, postgres } as const

export type EngineName = keyof typeof ENGINES
