import { describe, expect, it } from 'vitest'
import { describeWith, POSTGRES } from '../helpers/services.ts'
import { toSeed } from './crash/random.ts'
import { expectOnlyPoisonDead, type PoisonStore, times } from './poison.ts'
import { createPostgresStore, createSqliteStore } from './poison-stores.ts'

const seed = toSeed(process.env.POISON_SEED)

const INNOCENT = times(40, 'Quick')
const MIXED = [...times(30, 'Quick'), ...times(10, 'Slow'), 'Poison', 'PoisonLater', 'PoisonLater']

// The tests run concurrently, because each test mostly waits for leases.
function describePoison(
  name: string,
  create: (attempts: number) => PoisonStore | Promise<PoisonStore>,
): void {
  describe(`deliveries whose handlers exit the process, ${name}, POISON_SEED=${seed}`, () => {
    it.concurrent.each([
      ['one, 5 attempts', 5, [...INNOCENT, 'Poison']],
      ['one, 10 attempts', 10, [...INNOCENT, 'Poison']],
      ['one that does it later, 5 attempts', 5, [...INNOCENT, 'PoisonLater']],
      ['three among slow ones, 8 attempts', 8, MIXED],
    ] as const)('only these become dead letters: %s', async (_, attempts, deliveries) => {
      await expectOnlyPoisonDead(await create(attempts), { attempts, deliveries, seed, concurrency: 8 })
    })

    it.concurrent('of 50 deliveries taken together, only the first, which exits the process, becomes a dead letter after 1 attempt', async () => {
      const store = await create(1)
      const run = { attempts: 1, deliveries: ['Poison', ...times(49, 'Quick')], concurrency: 50 }
      let exits = 0
      await expectOnlyPoisonDead(store, run, async (life) => {
        exits++
        const stats = await store.inbox.stats()
        if (life === 0) expect(stats).toMatchObject({ waiting: 0, active: 50 })
      })
      expect(exits).toBe(2)
    })
  })
}

describePoison('SQLite', createSqliteStore)
await describeWith(POSTGRES, (url) =>
  describePoison('PostgreSQL', (attempts) => createPostgresStore(url, attempts)),
)
