import { DelayedError, Queue, UnrecoverableError } from 'bullmq'
import { createRedisDuplicates } from 'geohook/redis'
import { describe, expect, it } from 'vitest'
import { readInboxOptions } from '../../../src/inbox/inbox-options.ts'
import { createExpiredLeases } from '../../../src/inbox/redis/expired-leases.ts'
import { createJobProcessor } from '../../../src/inbox/redis/job-processor.ts'
import { createLocks } from '../../../src/inbox/redis/locks.ts'
import type { OpenedQueue } from '../../../src/inbox/redis/queue.ts'
import { createSuccessMarks } from '../../../src/inbox/redis/success-marks.ts'
import { until } from '../../contract/inbox/fixture.ts'
import { createGate } from '../../helpers/gate.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { usePrefix } from './fixture.ts'

const LOST = 'Error: another process has taken the delivery over'

await describeWith(REDIS, (url) => {
  const { client, prefixOfTest, open, send, receiverWith } = usePrefix(url)

  describe('expired leases in Redis', () => {
    it('an attempt counts once, even if its lease expires several times while its process is alive', async () => {
      const inbox = open({ attempts: 2 })
      await send(inbox)
      const { gate, release } = createGate()
      const attempts: number[] = []
      inbox.work(
        receiverWith(async (_, __, { attempt }) => {
          attempts.push(attempt)
          if (attempts.length > 1) return
          await gate
          throw new Error('the first attempt')
        }),
      )
      await until(() => attempts.length === 1)
      const [entry] = (await inbox.list()).entries
      const jobId = `delivery-${entry?.id}`
      const keyOf = (name: string) => `${prefixOfTest()}:inbox:${name}`
      for (let times = 0; times < 3; times++) {
        const token = await client.get(keyOf(`${jobId}:lock`))
        // Simulate BullMQ's reaction to an expired lock.
        await client
          .multi()
          .del(keyOf(`${jobId}:lock`))
          .lrem(keyOf('active'), 1, jobId)
          .rpush(keyOf('wait'), jobId)
          .zadd(keyOf('marker'), 0, '0')
          .exec()
        await until(async () => ![null, token].includes(await client.get(keyOf(`${jobId}:lock`))))
      }
      await until(async () => (await inbox.list()).entries[0]?.attempts === 1)
      release()
      await until(async () => (await inbox.stats()).done + (await inbox.stats()).dead === 1)
      expect(attempts).toEqual([1, 2])
      expect((await inbox.list()).entries).toMatchObject([{ state: 'done', attempts: 2 }])
    })

    it('the signal of a handler is aborted if another process has taken its delivery', async () => {
      const inbox = open({ lease: 1_000, attempts: 1 })
      await send(inbox)
      let reason: unknown
      let isRunning = false
      inbox.work(
        receiverWith(async (_, __, { signal }) => {
          isRunning = true
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          reason = signal.reason
        }),
      )
      await until(() => isRunning)
      const [entry] = (await inbox.list()).entries
      await client.set(`${prefixOfTest()}:inbox:delivery-${entry?.id}:lock`, 'another:0', 'PX', 5_000)
      await until(() => reason !== undefined)
      expect(String(reason)).toContain('another process has taken the delivery over')
    })

    it('an attempt whose delivery another process has taken is reported as failed once', async () => {
      const failed: string[] = []
      const observer = { failed: ({ error }: { error: unknown }) => failed.push(String(error)), trouble() {} }
      const inbox = open({ lease: 1_000, observer })
      await send(inbox)
      const { gate, release } = createGate()
      let isRunning = false
      const workers = inbox.work(
        receiverWith(() => {
          isRunning = true
          return gate
        }),
      )
      await until(() => isRunning)
      const [entry] = (await inbox.list()).entries
      await client.set(`${prefixOfTest()}:inbox:delivery-${entry?.id}:lock`, 'another:0', 'PX', 60_000)
      await until(() => failed.length > 0)
      release()
      await workers.close()
      expect(failed).toEqual([LOST])
    })

    it('does not handle a suspect if another process took it while it waited for its turn', async () => {
      const failed: string[] = []
      const observer = { failed: ({ error }: { error: unknown }) => failed.push(String(error)), trouble() {} }
      const inbox = open({ lease: 1_000, observer })
      for (let number = 0; number < 2; number++) await send(inbox)
      const { entries } = await inbox.list()
      const keyOf = (id: string) => `${prefixOfTest()}:inbox:delivery-${id}`
      for (const { id } of entries) await client.hset(keyOf(id), 'stc', 1)
      const { gate, release } = createGate()
      const handled: string[] = []
      const handler = (_: unknown, { id }: { id: string }) => {
        handled.push(id)
        return gate
      }
      inbox.work(receiverWith(handler), { coalesce: { by: 'service', wait: 1 } })
      await until(async () => handled.length === 1 && (await inbox.stats()).active === 2)
      const waiting = keyOf(entries.find(({ id }) => id !== handled[0])?.id ?? '')
      await client.multi().set(`${waiting}:lock`, 'another:0', 'PX', 60_000).hset(waiting, 'atm', 1).exec()
      const takenAt = Number(await client.hget(waiting, 'processedOn'))
      // The worker checks the lock when half of the lease has passed.
      await until(() => Date.now() - takenAt > 500)
      release()
      await until(() => failed.length > 0 || handled.length > 1)
      expect([handled.length, failed]).toEqual([1, [LOST]])
      // Only the attempt of the other process counts.
      const { entries: later } = await inbox.list()
      expect(later.map(({ attempts }) => attempts)).toEqual([1, 1])
    })

    it('a suspect that is removed before its attempt begins is not handled, and nothing is written', async () => {
      const run = <Result>(work: (opened: OpenedQueue) => Promise<Result>) => work(opened)
      const queue = new Queue('inbox', { connection: client, prefix: prefixOfTest() })
      const opened: OpenedQueue = { queue, client, allowsInfo: true }
      const errors: unknown[] = []
      const leases = createExpiredLeases(run, (error) => errors.push(error))
      const inbox = open()
      await send(inbox)
      const [job] = await queue.getJobs('waiting')
      if (!job) throw new Error('no job')
      await job.remove()
      const handled: unknown[] = []
      const processor = createJobProcessor({
        ...leases,
        receiver: { handle: async (delivery) => void handled.push(delivery) },
        work: { concurrency: 1, wait: undefined },
        marks: createSuccessMarks(run, (error) => errors.push(error)),
        locks: createLocks(run, 30_000, (error) => errors.push(error)),
        config: readInboxOptions({}),
        UnrecoverableError,
        DelayedError,
      })
      // Make the job a suspect, so that the inbox counts the attempt before the handlers run.
      job.stalledCounter = 1
      await expect(processor.process(job)).rejects.toThrow(DelayedError)
      await leases.clearSuspect(job, true)
      expect([handled, errors]).toEqual([[], []])
      expect(await client.exists(queue.toKey(job.id ?? ''))).toBe(0)
      await queue.close()
    })

    it('a process renews its expired claim, unless another process has taken it', async () => {
      const [first, second] = [
        createRedisDuplicates({ url, prefix: prefixOfTest(), lease: 1_000 }),
        createRedisDuplicates({ url, prefix: prefixOfTest(), lease: 1_000 }),
      ]
      const [ours, theirs] = ['ab'.repeat(16), 'cd'.repeat(16)]
      const keyOf = (id: string) => `${prefixOfTest()}:duplicates:${id}`
      try {
        await first.claim(ours)
        await first.claim(theirs)
        // Simulate a blocked event loop: both claims have expired, and another process has taken one of them.
        await client.multi().del(keyOf(ours)).set(keyOf(theirs), 'another').exec()
        await until(async () => (await client.exists(keyOf(ours))) === 1)
        expect(await second.claim(ours)).toBe('busy')
        expect(await client.get(keyOf(theirs))).toBe('another')
      } finally {
        await Promise.all([first.close(), second.close()])
      }
    })
  })
})
