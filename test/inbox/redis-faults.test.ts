import { inspect } from 'node:util'
import { createReceiver } from 'geohook'
import { createRedisDuplicates, createRedisInbox } from 'geohook/redis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { uniquePayload, until } from '../contract/inbox/fixture.ts'
import { deliver, KEY } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { createPrivateRedis, findRedis, type PrivateRedis } from '../helpers/private-redis.ts'
import { startNode } from '../helpers/process.ts'
import { root } from '../package/entries.ts'
import { type Load, startLoad } from './load.ts'

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
      lease: 2_000,
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

  it('forbids INFO: works all the same', async () => {
    await server.start()
    await server.command('ACL', 'SETUSER', 'plain', 'on', '>word', '~*', '&*', '+@all', '-info', '-config')
    const url = server.url.replace(':s3cret-of-redis@', 'plain:word@')
    const inbox = open({ url })
    let handled = 0
    inbox.work(createReceiver({ signatureKey: KEY }).on('*', () => handled++))
    expect((await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload())).status).toBe(202)
    await until(() => handled === 1)
    await inbox.close()
  })

  it('refuses the password: an error that does not hold it', async () => {
    await server.start()
    const inbox = open({ url: server.url.replace('s3cret-of-redis', 's3cret-but-wrong') })
    const error = await inbox.stats().catch((thrown) => thrown)
    expect(error).toBeInstanceOf(Error)
    expect(inspect([error, troubles], { depth: 10, showHidden: true })).not.toContain('s3cret')
    await inbox.close()
  })

  it.each([
    ['is gone', () => server.crash()],
    ['hangs', () => server.hang()],
  ])('%s for good: what is at work ends, and close() does not wait for Redis', async (_, happens) => {
    await server.start()
    const inbox = open()
    const { gate, release } = createGate()
    let started = 0
    inbox.work(
      createReceiver({ signatureKey: KEY }).on('*', () => {
        started++
        return gate
      }),
    )
    await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload())
    await until(() => started === 1)
    await happens()
    const began = performance.now()
    const closing = inbox.close()
    release()
    await closing
    expect(performance.now() - began).toBeLessThan(PATIENCE)
  })

  /** A process that takes a delivery, and is killed while its handler is at work. */
  async function dieAtWork(options: object): Promise<void> {
    const program = `
      import { createReceiver } from 'geohook'
      import { createRedisInbox } from 'geohook/redis'
      const inbox = createRedisInbox(${JSON.stringify({ url: server.url, ...options })})
      inbox.work(createReceiver({ signatureKey: '${KEY}' }).on('*', () => {
        process.stdout.write('at work')
        return new Promise(() => {})
      }))`
    const started = startNode(['--input-type=module', '--eval', program], {}, { cwd: root })
    await started.printed(/at work/)
    await started.stop('SIGKILL')
  }

  it('a process that dies at work: another takes its delivery, as the next attempt', async () => {
    await server.start()
    const inbox = open({ lease: 1_000 })
    await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload())
    await dieAtWork({ lease: 1_000 })
    const attempts: number[] = []
    inbox.work(createReceiver({ signatureKey: KEY }).on('*', (_, __, { attempt }) => attempts.push(attempt)))
    await until(async () => (await inbox.stats()).done === 1)
    expect(attempts).toEqual([2])
    await inbox.close()
  })

  it('a delivery that takes every process down with it is dead when its attempts are spent', async () => {
    await server.start()
    const inbox = open({ lease: 1_000, attempts: 2 })
    const receiver = createReceiver({ signatureKey: KEY, inbox })
    await deliver(receiver, uniquePayload())
    await dieAtWork({ lease: 1_000, attempts: 2 })
    await dieAtWork({ lease: 1_000, attempts: 2 })
    const attempts: number[] = []
    inbox.work(createReceiver({ signatureKey: KEY }).on('*', (_, __, { attempt }) => attempts.push(attempt)))
    await until(async () => (await inbox.stats()).dead === 1)
    expect(attempts).toEqual([])
    const [entry] = (await inbox.list({ state: 'dead' })).entries
    expect(entry?.error).toContain('its process ended during the last attempt')
    expect(await inbox.retry(entry?.id ?? '')).toBe(true)
    await until(async () => (await inbox.stats()).done === 1)
    expect(attempts).toEqual([1])
    await inbox.close()
  })

  it('a handler that ends while Redis is away, longer than the lease, is not run again', async () => {
    await server.start()
    const inbox = open({ lease: 1_000 })
    const { gate, release } = createGate()
    let runs = 0
    let ended = 0
    inbox.work(
      createReceiver({ signatureKey: KEY }).on('*', async () => {
        runs++
        await gate
        ended = performance.now()
      }),
    )
    await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload())
    await until(() => runs === 1)
    await server.crash()
    release()
    await until(() => ended > 0 && performance.now() - ended > 1_500)
    await server.start()
    await until(async () => (await inbox.stats().catch(() => undefined))?.done === 1)
    expect(runs).toBe(1)
    await inbox.close()
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
