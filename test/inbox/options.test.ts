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
])('%o refuses to be made of nothing', (create) => {
  for (const options of [undefined, null, {}, 'text']) expect(() => create(options as never)).toThrow(refused)
})

it('a clock that is none is refused when it is given, not at the first delivery', () => {
  const clock = 5 as never
  expect(() => createMemoryInbox({ clock })).toThrow(refused)
  expect(() => createMemoryDuplicates({ clock })).toThrow(refused)
  expect(() => createSqliteInbox({ path: 'inbox.db', clock })).toThrow(refused)
})
