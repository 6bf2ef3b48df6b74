import { expect, it } from 'vitest'
import { findRedis } from '../helpers/private-redis.ts'
import { describeWith, RABBITMQ } from '../helpers/services.ts'
import { toSeed } from '../inbox/crash/random.ts'
import { type QueueRun, runQueueCrashes, toLine } from './crash.ts'

// Number of kills in each test. `npm run crash:queues` uses a larger number.
const KILLS = 6
const seed = toSeed(process.env.CRASH_SEED)

function losesNothing(recipe: QueueRun['recipe']): void {
  it.concurrent(`kill -9 loses no acknowledged delivery: ${recipe}, CRASH_SEED=${seed}`, async () => {
    const run = { recipe, kills: KILLS, seed }
    const verdict = await runQueueCrashes(run)
    console.log(toLine(run, verdict))
    expect(verdict.lost).toEqual([])
    // Without acknowledged deliveries, the test would prove nothing.
    expect(verdict.acknowledged).toBeGreaterThan(0)
    expect(verdict.handled + verdict.dead).toBeGreaterThanOrEqual(verdict.acknowledged)
  })
}

if (findRedis() || process.env.CI === 'true') losesNothing('BullMQ')
else it.skip('kill -9 loses no acknowledged delivery: BullMQ, needs redis-server', () => {})
await describeWith(RABBITMQ, () => losesNothing('RabbitMQ'))
