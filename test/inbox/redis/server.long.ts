import { inspect } from 'node:util'
import { createReceiver } from 'geohook'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { uniquePayload, until } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import { startNode } from '../../helpers/process.ts'
import { describeWith } from '../../helpers/services.ts'
import { root } from '../../package/entries.ts'
import { editOf } from '../deliveries.ts'
import { REDIS_SERVER, usePrivateRedis } from './private-server.ts'

await describeWith(REDIS_SERVER, () => {
  describe('a private Redis server', () => {
    const fixture = usePrivateRedis()
    const { open } = fixture

    /** Runs a program and waits until it exits. The program can use the variable `inbox`. */
    async function runProgram(lines: string): Promise<{ stdout: string }> {
      const text = `
      import { createReceiver } from 'geohook'
      import { createRedisInbox } from 'geohook/redis'
      const observer = { trouble: ({ error }) => console.log(error) }
      const inbox = createRedisInbox({ url: '${fixture.server.url}', observer })
      ${lines}`
      const started = startNode(['--input-type=module', '--eval', text], {}, { cwd: root })
      expect(await started.exited).toBe(0)
      return started
    }

    it.each([0, 10, 100, 1_000])(
      'lets the process exit as soon as workers closed after %i ms, without output',
      async (ms) => {
        await fixture.server.start()
        const { stdout } = await runProgram(`
      inbox.work(createReceiver({ signatureKey: '${KEY}' }).on('*', () => {}))
      await new Promise((resolve) => setTimeout(resolve, ${ms}))
      await inbox.close()
      // Only fires if a connection keeps the process alive: BullMQ waits up to 10 s for a job.
      setTimeout(() => console.log('still running'), 2_000).unref()`)
        expect(stdout).toBe('')
      },
    )

    it('rejects a wrong password without quoting it in the error', async () => {
      await fixture.server.start()
      const inbox = open({ url: fixture.server.url.replace('s3cret-of-redis', 's3cret-but-wrong') })
      const error = await inbox.stats().catch((thrown) => thrown)
      expect(error).toBeInstanceOf(Error)
      expect(inspect([error, fixture.troubles], { depth: 10, showHidden: true })).not.toContain('s3cret')
      await inbox.close()
    })

    it.each([
      ['crashes', () => fixture.server.crash()],
      ['hangs', () => fixture.server.hang()],
    ])('%s for good: close() waits for the handlers, but not for Redis', async (_, fail) => {
      await fixture.server.start()
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
      await fail()
      const closing = inbox.close()
      release()
      await closing
    })

    /**
     * Waits until a worker has renewed the lease of a delivery. Redis counts the delivery as active slightly earlier,
     * before the worker has received it.
     */
    async function untilRenewed(id: string): Promise<void> {
      const client = new Redis(fixture.server.url)
      let left = Number.POSITIVE_INFINITY
      await until(async () => {
        const now = await client.pttl(`geohook:inbox:delivery-${id}:lock`)
        const isRenewed = now > left
        if (now >= 0) left = now
        return isRenewed
      })
      client.disconnect()
    }

    it('close() does not wait for the server to renew the leases of a gathering group', async () => {
      await fixture.server.start()
      const failed: string[] = []
      const observer = { failed: ({ error }: { error: unknown }) => failed.push(String(error)), trouble() {} }
      const inbox = open({ observer })
      let calls = 0
      const delivery = editOf()
      await inbox.put(delivery)
      inbox.work(
        createReceiver({ signatureKey: KEY }).on('*', () => calls++),
        { coalesce: { by: 'service', wait: 60_000 } },
      )
      await untilRenewed(delivery.id)
      const takenAt = Date.now()
      await fixture.server.crash()
      // Leases older than half of their duration must be renewed before the group begins.
      await until(() => Date.now() > takenAt + 500)
      await inbox.close()
      expect([calls, failed]).toEqual([0, ['Error: the lease could not be renewed']])
    })

    /** Starts a process that takes a delivery, and kills the process while its handler runs. */
    async function dieInHandler(options: object): Promise<void> {
      const program = `
      import { createReceiver } from 'geohook'
      import { createRedisInbox } from 'geohook/redis'
      const inbox = createRedisInbox(${JSON.stringify({ url: fixture.server.url, ...options })})
      inbox.work(createReceiver({ signatureKey: '${KEY}' }).on('*', () => {
        process.stdout.write('handling')
        return new Promise(() => {})
      }))`
      const started = startNode(['--input-type=module', '--eval', program], {}, { cwd: root })
      await started.printed(/handling/)
      await started.stop('SIGKILL')
    }

    it('another process handles the delivery of a killed process, as the same attempt', async () => {
      await fixture.server.start()
      const inbox = open({ lease: 1_000 })
      await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload())
      await dieInHandler({ lease: 1_000 })
      const attempts: number[] = []
      inbox.work(
        createReceiver({ signatureKey: KEY }).on('*', (_, __, { attempt }) => attempts.push(attempt)),
      )
      await until(async () => (await inbox.stats()).done === 1)
      expect(attempts).toEqual([1])
      await inbox.close()
    })

    it('a delivery whose handler terminates every process becomes a dead letter after attempts + 1 runs', async () => {
      await fixture.server.start()
      const inbox = open({ lease: 1_000, attempts: 2 })
      const receiver = createReceiver({ signatureKey: KEY, inbox })
      await deliver(receiver, uniquePayload())
      for (let times = 0; times < 3; times++) await dieInHandler({ lease: 1_000, attempts: 2 })
      const attempts: number[] = []
      inbox.work(
        createReceiver({ signatureKey: KEY }).on('*', (_, __, { attempt }) => attempts.push(attempt)),
      )
      await until(async () => (await inbox.stats()).dead === 1)
      expect(attempts).toEqual([])
      const [entry] = (await inbox.list({ state: 'dead' })).entries
      expect(entry?.error).toContain('its process ended during the last attempt')
      expect(await inbox.retry(entry?.id ?? '')).toBe(true)
      await until(async () => (await inbox.stats()).done === 1)
      expect(attempts).toEqual([1])
      await inbox.close()
    })

    it('a handler that succeeds during an outage longer than the lease is not run again', async () => {
      await fixture.server.start()
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
      await fixture.server.crash()
      release()
      await until(() => ended > 0 && performance.now() - ended > 1_500)
      await fixture.server.start()
      await until(async () => (await inbox.stats().catch(() => undefined))?.done === 1)
      expect(runs).toBe(1)
      await inbox.close()
    })
  })
})
