import { createMemoryRows } from 'geohook/inbox'
import { createPostgresRows } from 'geohook/postgres'
import { createSqliteRows } from 'geohook/sqlite'
import pg from 'pg'
import { afterAll, describe, it } from 'vitest'
import { createFolder } from '../../helpers/folder.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { checkHistories } from './histories.ts'

describe('compare() returns the last handled and the current rows in random histories', () => {
  it('with rows in memory', () => checkHistories(() => createMemoryRows(), 12))

  it('with rows in SQLite', { tags: ['sqlite'] }, async () => {
    const { fileIn, remove } = createFolder()
    try {
      await checkHistories(() => createSqliteRows({ path: fileIn('rows.db') }), 4)
    } finally {
      await remove()
    }
  })
})

await describeWith(POSTGRES, (connectionString) => {
  const schema = `geohook_snapshots_${process.pid}_${Date.now()}`
  afterAll(async () => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    await client.query(`drop schema if exists ${schema} cascade`)
    await client.end()
  })

  it('compare() returns the last handled and the current rows in random histories in PostgreSQL', () =>
    checkHistories(() => createPostgresRows({ connectionString, schema }), 4))
})
