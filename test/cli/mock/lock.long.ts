import { expect, it } from 'vitest'
import { lockRounds } from '../../helpers/lock-rounds.ts'

it.each([
  [20, 3],
  [8, 8],
])(
  'a state file is locked by exactly one process in each of %i rounds with %i processes',
  async (rounds, processes) => {
    const owners = await lockRounds(rounds, processes)
    expect(owners).toEqual(Array(rounds).fill(1))
  },
  300_000,
)
