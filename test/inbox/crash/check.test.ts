import { expect, it } from 'vitest'
import { check, type ProcessLog } from './check.ts'

const CONCURRENCY = 2

const sent = (...ids: string[]) => ids.map((id) => ({ id, acknowledged: true }))
const killed = (...lines: string[]): ProcessLog => ({ lines, killed: true })
const closed = (...lines: string[]): ProcessLog => ({ lines, killed: false })
const handled = (id: string): string[] => [`begin ${id}`, `success ${id}`, `settled ${id}`]
const open = (id: string): string[] => [`begin ${id}`, `success ${id}`]
const verdictOn = (logs: ProcessLog[], ...ids: string[]) => check(sent(...ids), logs, CONCURRENCY)

it('accepts deliveries that were handled once, and duplicates that a kill may cause', () => {
  const logs = [
    killed(...handled('a'), 'begin b', ...open('c')),
    killed(...open('c'), ...open('d')),
    closed(...handled('b'), ...handled('c')),
  ]
  const never = { id: 'never', acknowledged: false }
  expect(check([...sent('a', 'b', 'c', 'd'), never], logs, CONCURRENCY)).toEqual({
    sent: 5,
    acknowledged: 4,
    handled: 4,
    doubled: 1,
    lost: [],
    faults: [],
  })
})

it('reports lost deliveries of an inbox that acknowledges deliveries before it stores them', () => {
  const logs = [killed(...handled('a'), 'begin b'), closed(...handled('c'))]
  expect(verdictOn(logs, 'a', 'b', 'c', 'd').lost).toEqual(['b', 'd'])
})

it('reports an inbox that loses recorded successes', () => {
  const logs = [killed(...handled('a')), closed(...handled('a'))]
  expect(verdictOn(logs, 'a')).toMatchObject({
    doubled: 1,
    faults: ['a was handled again after its success in process 0 was recorded'],
  })
})

it('reports an inbox that records no successes', () => {
  const logs = [killed(...open('a'), ...open('b'), ...open('c')), closed(...handled('a'))]
  expect(verdictOn(logs, 'a', 'b', 'c').faults).toEqual(['process 0: 3 successes are not recorded at c'])
})

it('allows no open or repeated success after a graceful exit', () => {
  const logs = [closed(...open('a')), closed(...handled('a'))]
  expect(verdictOn(logs, 'a').faults).toEqual([
    'process 0: a is not recorded, and the process ended gracefully',
    'a was handled again after its success in process 0 was recorded',
  ])
})

it('reports a delivery that one process handled twice, even if the process was killed', () => {
  const logs = [killed(...open('a'), 'success a')]
  expect(verdictOn(logs, 'a').faults).toEqual(['process 0: a was handled twice in one process'])
})

it('reports a success without a begin, a settled without a success, an unknown delivery and an unreadable line', () => {
  const logs = [killed('success a', 'settled b', ...handled('stranger'), 'beg')]
  expect(verdictOn(logs, 'a', 'b').faults).toEqual([
    'process 0: a succeeded and never began',
    'process 0: b was recorded without a success',
    'process 0: unreadable log line: beg',
    'stranger was handled and never sent',
  ])
})

it('allows a second attempt only if it begins after the first process was killed', () => {
  const killedAt = (time: number, ...lines: string[]): ProcessLog => ({ lines, killed: true, killedAt: time })
  const first = ['begin a 100', 'success a 110']
  const second = ['begin a 300', 'success a 310', 'settled a 320']
  // The order of the logs does not matter.
  expect(verdictOn([closed(...second), killedAt(200, ...first)], 'a')).toMatchObject({
    doubled: 1,
    faults: [],
  })
  expect(verdictOn([killedAt(200, ...first), closed(...second)], 'a')).toMatchObject({
    doubled: 1,
    faults: [],
  })
  expect(verdictOn([killedAt(400, ...first), closed(...second)], 'a').faults).toHaveLength(1)
})

it('allows a second success after an outage of the server, even in the same process', () => {
  const twice = ['begin a 100', 'success a 110', 'begin a 300', 'success a 310', 'settled a 320']
  const verdictWith = (from: number, to: number, lines = twice) =>
    check(sent('a'), [closed(...lines)], CONCURRENCY, [{ from, to }])
  expect(verdictWith(105, 200)).toMatchObject({ doubled: 1, lost: [], faults: [] })
  expect(verdictWith(400, 500).faults).toEqual(['process 0: a was handled twice in one process'])
  expect(verdictWith(50, 60).faults).toContain('process 0: a was handled twice in one process')
  const recorded = [...twice.slice(0, 2), 'settled a 120', ...twice.slice(2)]
  expect(verdictWith(130, 200, recorded).faults).toEqual(['process 0: a was handled twice in one process'])
})
