import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

await describeWith(POSTGRES, (connectionString) => {
  describe('notifications of PostgreSQL', () => {
    const { schema, client, open, queueName } = useSchema(connectionString, 'listen')
    const listeners = async () =>
      (
        await client.query(
          `select pid from pg_stat_activity where query like 'listen%${schema}.${queueName()}%'`,
        )
      ).rows

    /** Starts workers, and returns the milliseconds from a put in another process until a handler begins. */
    async function measure(work: ReturnType<typeof open>, put: ReturnType<typeof open>): Promise<number[]> {
      const began = new Map<string, number>()
      work.work({ handle: async ({ id }) => void began.set(id, performance.now()) })
      const delays: number[] = []
      for (const digit of [1, 2, 3, 4, 5]) {
        const started = performance.now()
        await put.put(deliveryWithId(idOf(digit)))
        await until(() => began.has(idOf(digit)))
        delays.push((began.get(idOf(digit)) ?? 0) - started)
      }
      return delays
    }

    it('wake the workers of other processes, also after their connection was lost', async () => {
      const worker = open()
      await worker.put(deliveryWithId(idOf('a')))
      const workers = worker.work({ handle: async () => {} })
      await until(async () => (await listeners()).length === 1)
      const [{ pid }] = await listeners()
      await client.query('select pg_terminate_backend($1)', [pid])
      await until(async () => {
        const [next] = await listeners()
        return next !== undefined && next.pid !== pid
      })
      await workers.close()
      const delays = await measure(worker, open())
      // Polls alone would take half a second on average.
      expect(Math.min(...delays)).toBeLessThan(300)
    })

    it('wake the workers of other processes after resume()', async () => {
      const [worker, operator] = [open(), open()]
      const handled = new Map<string, number>()
      worker.work({ handle: async ({ id }) => void handled.set(id, performance.now()) })
      await until(async () => (await listeners()).length === 1)
      const delays: number[] = []
      for (const digit of [1, 2, 3, 4, 5]) {
        await operator.pause()
        await operator.put(deliveryWithId(idOf(digit)))
        const started = performance.now()
        await operator.resume()
        await until(() => handled.has(idOf(digit)))
        delays.push((handled.get(idOf(digit)) ?? 0) - started)
      }
      // Polls alone would take half a second on average.
      expect(Math.min(...delays)).toBeLessThan(300)
    })

    it.each([
      ['listen: false', {}],
      ['a pool with one connection', { max: 1 }],
    ])('are not used with %s: the workers poll', async (_, { max }: { max?: number }) => {
      const pool = new pg.Pool({ connectionString, ...(max && { max }) })
      onTestFinished(() => pool.end())
      const worker = open({ pool, ...(max === undefined && { listen: false }) })
      await measure(worker, open())
      expect(await listeners()).toEqual([])
      await worker.close()
    })
  })
})
