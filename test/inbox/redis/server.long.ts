import { inspect } from 'node:util'
import { createReceiver } from 'geohook'
import { createRedisInbox } from 'geohook/redis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { uniquePayload, until } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import { createPrivateRedis, findRedis, type PrivateRedis } from '../../helpers/private-redis.ts'
import { startNode } from '../../helpers/process.ts'
import { root } from '../../package/entries.ts'

const program = findRedis()
const isSkipped = program === undefined && process.env.CI !== 'true'
if (isSkipped) process.stderr.write('SKIPPED: no redis-server. Install it, or put its folder into PATH.\n')

/** Milliseconds: an answer takes no longer, whatever Redis does. */
const PATIENCE = 8_000

describe.skipIf(isSkipped)('a Redis of our own', { timeout: 60_000 }, () => {
  let server: PrivateRedis
  let troubles: unknown[] = []
  beforeEach(async () => {
    if (program === undefined) throw new Error('no program redis-server: install it')
    server = await createPrivateRedis(program)
    troubles = []
  })
  afterEach(() => server?.remove())
  const open = (options = {}) =>
    createRedisInbox({
      url: server.url,
      lease: 1_000,
      observer: { trouble: ({ error }) => troubles.push(error), failed() {}, dead() {} },
      ...options,
    })

  /** Runs a program with `inbox`, which is open, and gives what it prints when it has ended. */
  async function runProgram(lines: string): Promise<{ stdout: string; stderr: string }> {
    const text = `
      import { createReceiver } from 'geohook'
      import { createRedisInbox } from 'geohook/redis'
      const observer = { trouble: ({ error }) => console.log(error) }
      const inbox = createRedisInbox({ url: '${server.url}', observer })
      ${lines}`
    const started = startNode(['--input-type=module', '--eval', text], {}, { cwd: root })
    expect(await started.exited).toBe(0)
    return started
  }

  it.each<[string, Record<string, string>, RegExp]>([
    ['no append-only file', { appendonly: 'no' }, /inbox_not_durable.*append-only file/],
    ['a policy that evicts', { 'maxmemory-policy': 'allkeys-lru' }, /inbox_not_durable.*allkeys-lru/],
  ])('has %s: a warning, once', async (_, settings, warning) => {
    await server.start(settings)
    const { stderr } = await runProgram('await inbox.stats(); await inbox.stats(); await inbox.close()')
    expect(stderr).toMatch(warning)
    expect(stderr.match(/inbox_not_durable/g)).toHaveLength(1)
  })

  it('loses nothing: no warning', async () => {
    await server.start()
    expect((await runProgram('await inbox.stats(); await inbox.close()')).stderr).not.toContain('inbox_')
  })

  it.each([0, 10, 100, 1_000])(
    'workers that are closed after %i ms: the process ends at once, quietly',
    async (ms) => {
      await server.start()
      const { stdout } = await runProgram(`
      inbox.work(createReceiver({ signatureKey: '${KEY}' }).on('*', () => {}))
      await new Promise((resolve) => setTimeout(resolve, ${ms}))
      await inbox.close()
      const closed = performance.now()
      process.on('exit', () => console.log('after', Math.round(performance.now() - closed)))`)
      expect(stdout).toMatch(/^after \d+\n$/)
      expect(Number(stdout.slice(6))).toBeLessThan(1_000)
    },
  )

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

  it('a process that dies at work: another takes its delivery, as the same attempt', async () => {
    await server.start()
    const inbox = open({ lease: 1_000 })
    await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload())
    await dieAtWork({ lease: 1_000 })
    const attempts: number[] = []
    inbox.work(createReceiver({ signatureKey: KEY }).on('*', (_, __, { attempt }) => attempts.push(attempt)))
    await until(async () => (await inbox.stats()).done === 1)
    expect(attempts).toEqual([1])
    await inbox.close()
  })

  it('a delivery that takes every process down with it is dead when its attempts are spent, the first not counted', async () => {
    await server.start()
    const inbox = open({ lease: 1_000, attempts: 2 })
    const receiver = createReceiver({ signatureKey: KEY, inbox })
    await deliver(receiver, uniquePayload())
    for (let times = 0; times < 3; times++) await dieAtWork({ lease: 1_000, attempts: 2 })
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
})
