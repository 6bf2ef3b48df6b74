import { createRedisDuplicates } from 'geohook/redis'
import { Redis } from 'ioredis'
import { it, onTestFinished } from 'vitest'
import { createPrivateRedis, findRedis } from '../../helpers/private-redis.ts'
import { describeWith } from '../../helpers/services.ts'
import { expectClaimsSurviveOutages } from '../outage.ts'

await describeWith({ name: 'redis-server', url: '' }, () => {
  it('duplicates in Redis reject claims while the server hangs or is down, and accept them afterwards', async () => {
    const server = await createPrivateRedis(findRedis() ?? 'redis-server')
    onTestFinished(() => server.remove())
    await server.start()
    const connection = new Redis(server.url)
    connection.on('error', () => {})
    onTestFinished(() => connection.disconnect())
    await expectClaimsSurviveOutages(createRedisDuplicates({ connection }), server)
  })
})
