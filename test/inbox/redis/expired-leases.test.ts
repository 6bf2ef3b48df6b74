import { DelayedError, Queue, UnrecoverableError } from 'bullmq'
import { createRedisDuplicates } from 'geohook/redis'
import { describe, expect, it } from 'vitest'
import { readInboxOptions } from '../../../src/inbox/inbox-options.ts'
import { createExpiredLeases } from '../../../src/inbox/redis/expired-leases.ts'
import { createJobProcessor } from '../../../src/inbox/redis/job-processor.ts'
import type { OpenedQueue } from '../../../src/inbox/redis/queue.ts'
import { createSuccessMarks } from '../../../src/inbox/redis/success-marks.ts'
import { until } from '../../contract/inbox/fixture.ts'
import { createGate } from '../../helpers/gate.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { usePrefix } from './fixture.ts'

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
