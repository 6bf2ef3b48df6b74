import { randomUUID } from 'node:crypto'
import { createPostgresInbox } from 'geohook/postgres'
import { createSqliteInbox } from 'geohook/sqlite'
import pg from 'pg'
import { createFolder } from '../helpers/folder.ts'
import type { PoisonStore } from './poison.ts'

const QUICK = { retryDelay: 10, maxRetryDelay: 1_000 }

export function createSqliteStore(attempts: number): PoisonStore {
  const folder = createFolder()
  const options = { path: folder.fileIn('inbox.db'), lease: 1_000, attempts, ...QUICK }
  return {
    entry: 'geohook/sqlite',
    factory: 'createSqliteInbox',
    options,
    inbox: createSqliteInbox(options),
    remove: folder.remove,
  }
}

export async function createPostgresStore(connectionString: string, attempts: number): Promise<PoisonStore> {
  const schema = `geohook_poison_${randomUUID().replaceAll('-', '')}`
  const options = { connectionString, schema, lease: 1_000, attempts, ...QUICK }
  const client = new pg.Client({ connectionString })
  await client.connect()
  return {
    entry: 'geohook/postgres',
    factory: 'createPostgresInbox',
    options,
    inbox: createPostgresInbox(options),
    async remove() {
      await client.query(`drop schema if exists ${schema} cascade`)
      await client.end()
    },
  }
}
