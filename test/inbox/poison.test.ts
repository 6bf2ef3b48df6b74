// @module-tag sqlite

import { it } from 'vitest'
import { toSeed } from './crash/random.ts'
import { expectOnlyPoisonDead, times } from './poison.ts'
import { createSqliteStore } from './poison-stores.ts'

const seed = toSeed(process.env.POISON_SEED)

it(`makes a dead letter only of the delivery whose handler ends the process, POISON_SEED=${seed}`, async () => {
  const deliveries = [...times(20, 'Quick'), 'Poison']
  await expectOnlyPoisonDead(createSqliteStore(3, 2_000), { attempts: 3, deliveries, seed })
})
