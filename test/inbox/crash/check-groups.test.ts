import { expect, it } from 'vitest'
import type { ProcessLog } from './check.ts'
import { checkGroups } from './check-groups.ts'

const sent = (...ids: string[]) => ids.map((id) => ({ id, acknowledged: true }))
let time = 0
const lines = (texts: readonly string[]): string[] => texts.map((text) => `${text} ${++time}`)
const killed = (...texts: string[]): ProcessLog => ({ lines: lines(texts), killed: true })
const closed = (...texts: string[]): ProcessLog => ({ lines: lines(texts), killed: false })
const open = (ids: string): string[] => [`begin ${ids}`, `success ${ids}`]
const settled = (ids: string): string[] => [...open(ids), ...ids.split(',').map((id) => `settled ${id}`)]

it('accepts a group that is handled again as a whole, and one that another process reports as recorded', () => {
  const logs = [
    killed(...settled('a,b'), ...open('c,d')),
    killed(...open('e,f'), 'settled e'),
    closed(...settled('c'), ...settled('d'), 'settled f'),
  ]
  expect(checkGroups(sent('a', 'b', 'c', 'd', 'e', 'f'), logs)).toEqual({
    sent: 6,
    acknowledged: 6,
    handled: 6,
    doubled: 2,
    lost: [],
    faults: [],
    calls: 5,
    largest: 2,
    repeated: 1,
  })
})

it('reports a group if only some of its deliveries are handled again', () => {
  const logs = [killed(...open('a,b')), closed(...settled('b'))]
  expect(checkGroups(sent('a', 'b'), logs).faults).toEqual([
    'the group a,b of process 0 is half recorded: b were handled again',
  ])
})

it('reports a recorded group that is handled again', () => {
  const logs = [killed(...open('a,b'), 'settled a'), closed(...settled('a'), ...settled('b'))]
  expect(checkGroups(sent('a', 'b'), logs).faults).toEqual([
    'the group a,b of process 0 was recorded, and a,b were handled again',
  ])
})

it('reports lost and unknown deliveries, and successes that a graceful exit has not recorded', () => {
  const { lost, faults } = checkGroups(sent('a', 'b'), [closed(...open('b,c'))])
  expect([lost, faults]).toEqual([
    ['a'],
    [
      'the group b,c of process 0 is not recorded, and the process ended gracefully',
      'c was handled and never sent',
    ],
  ])
})

it('reports a group that is handled twice in one process', () => {
  const logs = [closed(...open('a,b'), ...settled('a,b'))]
  expect(checkGroups(sent('a', 'b'), logs).faults).toContain(
    'the group a,b of process 0 was handled twice in one process',
  )
})
