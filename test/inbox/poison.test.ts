// @module-tag sqlite

import { it } from 'vitest'
import { toSeed } from './crash/random.ts'
import { expectOnlyPoisonDead, times } from './poison.ts'
import { createSqliteStore } from './poison-stores.ts'

const seed = toSeed(process.env.POISON_SEED)

it(`moves only the delivery whose handler exits the process to the dead letters, POISON_SEED=${seed}`, async () => {
  const deliveries = [...times(20, 'Quick'), 'Poison']
  await expectOnlyPoisonDead(createSqliteStore(3, 2_000), { attempts: 3, deliveries, seed })
})
