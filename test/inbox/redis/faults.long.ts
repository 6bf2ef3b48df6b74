import { inspect } from 'node:util'
import { createRedisDuplicates, createRedisInbox } from 'geohook/redis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createPrivateRedis, findRedis, type PrivateRedis } from '../../helpers/private-redis.ts'
import { type Load, startLoad } from '../http-load.ts'

const program = findRedis()
const isSkipped = program === undefined && process.env.CI !== 'true'

/** Milliseconds: an answer takes no longer, whatever Redis does. */
const PATIENCE = 8_000

describe.skipIf(isSkipped)('Redis that goes away', { timeout: 60_000 }, () => {
  let server: PrivateRedis
  let troubles: unknown[] = []
  beforeEach(async () => {
    if (program === undefined) throw new Error('no program redis-server: install it')
    server = await createPrivateRedis(program)
    troubles = []
  })
  afterEach(() => server?.remove())
  // A job that was taken while the server went away comes back after the lease.
  const open = (options = {}) =>
    createRedisInbox({
      url: server.url,
      lease: 1_000,
      observer: { trouble: ({ error }) => troubles.push(error), failed() {}, dead() {} },
      ...options,
    })

  /** Runs a load through something that happens to the server. */
  async function through(happens: (load: Load) => Promise<void>): Promise<Load> {
    await server.start()
    const load = await startLoad(open())
    try {
      await until(() => load.handled.size > 50)
      await happens(load)
      const before = load.answers.length
      await until(() => load.answers.slice(before).filter(({ status }) => status === 202).length > 50)
      await load.end()
      await until(() => load.handled.size >= load.taken.size)
    } finally {
      await load.close()
    }
    return load
  }

  const refusals = ({ answers }: Load): number => answers.filter(({ status }) => status === 503).length

  function expectNothingLost({ answers, taken, handled }: Load): void {
    expect([...taken].filter((body) => !handled.has(body))).toEqual([])
    expect(answers.filter(({ status }) => ![200, 202, 503].includes(status))).toEqual([])
    const refused = answers.filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.every(({ retryAfter }) => Number(retryAfter) > 0)).toBe(true)
    expect(Math.max(...answers.map(({ milliseconds }) => milliseconds))).toBeLessThan(PATIENCE)
    expect(inspect(troubles, { depth: 10, showHidden: true })).not.toContain('s3cret')
  }

  it('is not there at first, and then is', async () => {
    const load = await startLoad(open())
    try {
      await until(() => refusals(load) > 20)
      expect(load.taken.size).toBe(0)
      expect(String(troubles[0])).toContain('ECONNREFUSED')
      await server.start()
      await until(() => load.handled.size > 50)
      await load.end()
      await until(() => load.handled.size >= load.taken.size)
    } finally {
      await load.close()
    }
    expectNothingLost(load)
    expect(troubles.length).toBeGreaterThan(0)
  })

  it('crashes under load and comes back: 503, and nothing is lost', async () => {
    const load = await through(async (running) => {
      await server.crash()
      await until(() => refusals(running) > 50)
      await server.start()
    })
    expectNothingLost(load)
    expect(troubles.length).toBeGreaterThan(0)
  })

  it('hangs under load and goes on: an answer in time, and nothing is lost', async () => {
    const load = await through(async (running) => {
      server.hang()
      try {
        await until(() => refusals(running) > 50)
      } finally {
        server.goOn()
      }
    })
    expectNothingLost(load)
  })

  it('has no memory left under load, and then has: 503, and nothing is lost', async () => {
    const load = await through(async (running) => {
      await server.command('CONFIG', 'SET', 'maxmemory', '1')
      await until(() => refusals(running) > 20)
      await server.command('CONFIG', 'SET', 'maxmemory', '0')
    })
    expectNothingLost(load)
  })

  it('becomes a replica that cannot be written to: 503', async () => {
    const load = await through(async (running) => {
      await server.command('REPLICAOF', '127.0.0.1', '1')
      await until(() => refusals(running) > 20)
      await server.command('REPLICAOF', 'NO', 'ONE')
    })
    expectNothingLost(load)
  })

  it('duplicates: an error in time, and claims again afterwards', async () => {
    await server.start()
    const store = createRedisDuplicates({ url: server.url })
    const [first, second] = ['ab'.repeat(16), 'cd'.repeat(16)]
    expect(await store.claim(first)).toBe('claimed')
    server.hang()
    const began = performance.now()
    await expect(store.claim(second)).rejects.toThrow()
    expect(performance.now() - began).toBeLessThan(PATIENCE)
    server.goOn()
    await until(async () => (await store.claim(first).catch(() => '')) === 'busy')
    await server.crash()
    await expect(store.claim(second)).rejects.toThrow()
    await server.start()
    await until(async () => (await store.claim(first).catch(() => '')) === 'busy')
    await store.close()
  })
})
