import { Queue } from 'bullmq'
import { describeWith, REDIS } from '../helpers/services.ts'
import { ATTEMPTS, testRecipe } from './cases.ts'
import { installed, startRecipe, writeRecipe } from './recipes.ts'

const QUEUE = `geohook-recipe-${process.pid}`

await describeWith(REDIS, (url) => {
  testRecipe({
    name: 'BullMQ',
    limit: 1024 ** 2,
    duplicate: 202,
    afterKill: 1,
    server: url,
    async start(env, server) {
      const folder = writeRecipe('BullMQ', installed('bullmq'), [
        ['attempts: 12', `attempts: ${ATTEMPTS}`],
        // Otherwise the job of a killed process waits up to a minute.
        ['concurrency: 10', 'concurrency: 10, lockDuration: 2_000, stalledInterval: 1_000'],
        ['maxStalledCount: 10', `maxStalledCount: ${ATTEMPTS - 1}`],
        ["type: 'exponential', delay: 1_000", "type: 'fixed', delay: 1_000"],
      ])
      const recipe = await startRecipe(folder, { ...env, REDIS_URL: server, QUEUE })
      const queue = new Queue(QUEUE, { connection: { url } })
      return {
        url: recipe.url,
        kill: recipe.kill,
        push: async (text) =>
          void (await queue.add('delivery', text, { attempts: ATTEMPTS, backoff: 1_000 })),
        dead: async () => (await queue.getFailed()).map(({ data }) => data),
        pending: () => queue.getJobCountByTypes('active', 'waiting', 'delayed', 'prioritized'),
        async stop() {
          await recipe.stop()
          await queue.obliterate({ force: true })
          await queue.close()
        },
      }
    },
  })
})
