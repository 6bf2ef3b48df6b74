import { randomUUID } from 'node:crypto'
import { afterAll, describe } from 'vitest'
import { removePrefix } from '../../helpers/redis-keys.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { describeProcesses } from '../processes.ts'

await describeWith(REDIS, (url) => {
  const prefixes: string[] = []
  afterAll(async () => {
    for (const prefix of prefixes) await removePrefix(url, prefix)
  })

  describe('several processes on Redis', () => {
    describeProcesses({
      url,
      attemptAfterKill: 1,
      name() {
        const prefix = `geohook-test-${randomUUID()}`
        prefixes.push(prefix)
        return `redis:${prefix}`
      },
    })
  })
})
