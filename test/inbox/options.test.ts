import { createMemoryDuplicates, createMemoryInbox } from 'geohook/inbox'
import { createPostgresDuplicates, createPostgresInbox } from 'geohook/postgres'
import { createRedisDuplicates, createRedisInbox } from 'geohook/redis'
import { createSqliteDuplicates, createSqliteInbox } from 'geohook/sqlite'
import { expect, it } from 'vitest'

const refused = expect.objectContaining({ code: 'config_invalid' })

it.each([
  createSqliteInbox,
  createSqliteDuplicates,
  createPostgresInbox,
  createPostgresDuplicates,
  createRedisInbox,
  createRedisDuplicates,
])('%o rejects missing options', (create) => {
  for (const options of [undefined, null, {}, 'text']) expect(() => create(options as never)).toThrow(refused)
})

it('rejects an invalid clock at construction', () => {
  const clock = 5 as never
  expect(() => createMemoryInbox({ clock })).toThrow(refused)
  expect(() => createMemoryDuplicates({ clock })).toThrow(refused)
  expect(() => createSqliteInbox({ path: 'inbox.db', clock })).toThrow(refused)
})
