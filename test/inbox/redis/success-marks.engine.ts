import { Queue } from 'bullmq'
import { expect, it } from 'vitest'
import type { OpenedQueue } from '../../../src/inbox/redis/queue.ts'
import { createSuccessMarks } from '../../../src/inbox/redis/success-marks.ts'
import { until } from '../../contract/inbox/fixture.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { usePrefix } from './fixture.ts'

await describeWith(REDIS, (url) => {
  const { client, prefixOfTest, open, send, receiverWith } = usePrefix(url)

  it('completes the jobs of a successful group that a crash has interrupted, without running handlers again', async () => {
    const ended: [string, number][] = []
    const inbox = open({
      observer: { handled: ({ delivery, attempt }) => ended.push([delivery.id, attempt]) },
    })
    await send(inbox)
    await send(inbox)
    const queue = new Queue('inbox', { connection: client, prefix: prefixOfTest() })
    const run = <Result>(work: (opened: OpenedQueue) => Promise<Result>) =>
      work({ queue, client, allowsInfo: true })
    const marks = createSuccessMarks(run, (error) => expect.unreachable(String(error)))
    const jobs = await queue.getJobs('waiting')
    const [removed] = jobs
    await marks.mark(jobs)
    // Expired leases, as after a crash.
    for (const { id = '' } of jobs) await client.hset(queue.toKey(id), 'stc', 1)
    expect(await marks.isMarked(removed as never)).toBe(true)
    inbox.work(receiverWith(() => expect.unreachable()))
    await until(() => ended.length === 2)
    expect(ended.map(([, attempt]) => attempt)).toEqual([1, 1])
    expect(await inbox.stats()).toMatchObject({ waiting: 0, active: 0, done: 2, dead: 0 })

    // A mark must not create the hash of a removed job.
    await removed?.remove()
    await marks.mark(jobs)
    expect(await client.exists(queue.toKey(removed?.id ?? ''))).toBe(0)
    await queue.close()
  })
})
