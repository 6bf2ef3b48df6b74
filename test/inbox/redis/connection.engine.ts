import { inspect } from 'node:util'
import { createRedisDuplicates, createRedisInbox, type RedisInboxOptions } from 'geohook/redis'
import { expect, it } from 'vitest'

const UNREACHABLE_URL = 'redis://127.0.0.1:1'
const URL_WRONG = 'url must be a redis: or rediss: URL'
const DATABASE = 'the database in the url must be a number, 0 to 999999999'

it.each<[string, Partial<RedisInboxOptions>, string]>([
  ['no url', { url: undefined as never }, 'url'],
  ['a url of another scheme', { url: 'http://:s3cret@127.0.0.1' }, URL_WRONG],
  ['a url that is not a string', { url: new URL('redis://:s3cret@127.0.0.1:1') as never }, URL_WRONG],
  ['an invalid url', { url: '//:s3cret@127.0.0.1' }, URL_WRONG],
  ['a password that cannot be decoded', { url: 'redis://:s3cret%zz@127.0.0.1' }, URL_WRONG],
  ['a database that is not a number', { url: 'redis://:s3cret@127.0.0.1:1/abc' }, DATABASE],
  ['a path below the database', { url: 'redis://:s3cret@127.0.0.1:1/1/2' }, DATABASE],
  ['a database in the query that is not a number', { url: 'redis://:s3cret@127.0.0.1:1?db=abc' }, DATABASE],
  ['an empty prefix', { prefix: '' }, 'prefix must be 1 to 200 characters'],
  ['a prefix with a NUL', { prefix: 'a\0' }, 'prefix must be 1 to 200 characters'],
  ['an empty queue', { queue: '' }, 'queue must be'],
  ['a colon in the queue', { queue: 'a:b' }, 'queue must'],
  ['a lease that is too short', { lease: 999 }, 'lease must be a whole number'],
])('rejects %s, without the password in the error', (_, options, message) => {
  let thrown: unknown
  try {
    createRedisInbox({ url: UNREACHABLE_URL, ...options })
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ code: 'config_invalid', message: expect.stringContaining(message) })
  expect(inspect(thrown)).not.toContain('s3cret')
})

it('opens no connection before the first use, and can be closed twice', async () => {
  const [inbox, duplicates] = [
    createRedisInbox({ url: UNREACHABLE_URL }),
    createRedisDuplicates({ url: UNREACHABLE_URL }),
  ]
  await Promise.all([inbox.close(), duplicates.close()])
  await Promise.all([inbox.close(), duplicates.close()])
})
