import { createMemoryDuplicates, createMemoryInbox } from 'geohook/inbox'
import { createPostgresDuplicates, createPostgresInbox } from 'geohook/postgres'
import { createRedisDuplicates } from 'geohook/redis'
import { createSqliteDuplicates, createSqliteInbox } from 'geohook/sqlite'
import { expect, it, onTestFinished, vi } from 'vitest'

const refused = expect.objectContaining({ code: 'config_invalid' })

it.each([
  createSqliteInbox,
  createSqliteDuplicates,
  createPostgresInbox,
  createPostgresDuplicates,
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

it.each([
  ['no connection', { connection: undefined }, 'connection must be an ioredis client'],
  [
    'a URL as connection',
    { connection: 'redis://:s3cret@127.0.0.1' },
    'connection must be an ioredis client',
  ],
  ['an object without eval()', { connection: {} }, 'connection must be an ioredis client'],
  ['null as connection', { connection: null }, 'connection must be an ioredis client'],
  ['an empty prefix', { prefix: '' }, 'prefix must be 1 to 200 characters'],
  ['a long prefix', { prefix: 'a'.repeat(201) }, 'prefix must be 1 to 200 characters'],
  ['a prefix with a NUL', { prefix: 'a\0' }, 'prefix must be 1 to 200 characters'],
  ['a lease that is too short', { lease: 999 }, 'lease must be a whole number'],
  ['a retention of 0', { retention: 0 }, 'retention must be a whole number'],
])('createRedisDuplicates rejects %s', (_, options, message) => {
  const connection = { eval: async () => {} }
  let thrown: unknown
  try {
    createRedisDuplicates({ connection, ...options } as never)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ code: 'config_invalid', message: expect.stringContaining(message) })
  expect(String(thrown)).not.toContain('s3cret')
})

it('createRedisDuplicates rejects a claim if the client does not respond, and claims again afterwards', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let reply: Promise<string> = new Promise(() => {})
  const store = createRedisDuplicates({ connection: { eval: () => reply } })
  const claim = expect(store.claim('ab'.repeat(16))).rejects.toThrow('Redis has not answered for 3000 ms')
  await vi.advanceTimersByTimeAsync(3_000)
  await claim
  reply = Promise.resolve('claimed')
  expect(await store.claim('ab'.repeat(16))).toBe('claimed')
  await store.close()
  expect(vi.getTimerCount()).toBe(0)
})
