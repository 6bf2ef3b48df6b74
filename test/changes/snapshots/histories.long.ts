import { createMemoryRows } from 'geohook/inbox'
import { it } from 'vitest'
import { checkHistories } from './histories.ts'

const runs = Number(process.env.SNAPSHOT_HISTORIES ?? 40)

it(
  `compare() returns the last handled and the current rows in ${runs} random histories`,
  () => checkHistories(() => createMemoryRows(), runs),
  1_800_000,
)
