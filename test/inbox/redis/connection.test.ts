import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createRedisDuplicates, createRedisInbox, type RedisInboxOptions } from 'geohook/redis'
import { expect, it } from 'vitest'
import { startNode } from '../../helpers/process.ts'
import { root } from '../../package/entries.ts'

const UNREACHABLE_URL = 'redis://127.0.0.1:1'

it.each<[string, Partial<RedisInboxOptions>]>([
  ['no url', { url: undefined as never }],
  ['a url of another scheme', { url: 'http://:s3cret@127.0.0.1' }],
  ['an invalid url', { url: '//:s3cret@127.0.0.1' }],
  ['a password that cannot be decoded', { url: 'redis://:s3cret%zz@127.0.0.1' }],
  ['a database that is not a number', { url: 'redis://:s3cret@127.0.0.1:1/abc' }],
  ['a path below the database', { url: 'redis://:s3cret@127.0.0.1:1/1/2' }],
  ['a database in the query that is not a number', { url: 'redis://:s3cret@127.0.0.1:1?db=abc' }],
  ['an empty prefix', { prefix: '' }],
  ['a prefix with a NUL', { prefix: 'a\0' }],
  ['an empty queue', { queue: '' }],
  ['a colon in the queue', { queue: 'a:b' }],
  ['a lease that is too short', { lease: 999 }],
])('rejects %s, without the password in the error', (_, options) => {
  let thrown: unknown
  try {
    createRedisInbox({ url: UNREACHABLE_URL, ...options })
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ code: 'config_invalid' })
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

it.each(['js', 'cjs'])('reports what to install if the packages are missing: redis.%s', async (format) => {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-alone-'))
  try {
    cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true })
    cpSync(join(root, 'package.json'), join(folder, 'package.json'))
    const program = `
      const { createRedisInbox } = (await import('./dist/redis.${format}'))
      await createRedisInbox({ url: '${UNREACHABLE_URL}' }).stats().catch((error) => console.log(error.message))`
    const started = startNode(['--input-type=module', '--eval', program], {}, { cwd: folder })
    expect(await started.exited).toBe(0)
    expect(started.stdout).toContain('npm install bullmq ioredis')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
