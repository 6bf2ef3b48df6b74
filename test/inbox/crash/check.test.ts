import { expect, it } from 'vitest'
import { check, type Life } from './check.ts'

const CONCURRENCY = 2

const sent = (...ids: string[]) => ids.map((id) => ({ id, acknowledged: true }))
const killed = (...lines: string[]): Life => ({ lines, killed: true })
const closed = (...lines: string[]): Life => ({ lines, killed: false })
const handled = (id: string): string[] => [`begin ${id}`, `success ${id}`, `settled ${id}`]
const open = (id: string): string[] => [`begin ${id}`, `success ${id}`]
const verdictOn = (lives: Life[], ...ids: string[]) => check(sent(...ids), lives, CONCURRENCY)

it('has nothing against deliveries that were handled once, nor against what a kill may cause', () => {
  const lives = [
    killed(...handled('a'), 'begin b', ...open('c')),
    killed(...open('c'), ...open('d')),
    closed(...handled('b'), ...handled('c')),
  ]
  const never = { id: 'never', acknowledged: false }
  expect(check([...sent('a', 'b', 'c', 'd'), never], lives, CONCURRENCY)).toEqual({
    sent: 5,
    acknowledged: 4,
    handled: 4,
    doubled: 1,
    lost: [],
    faults: [],
  })
})

it('an inbox that acknowledges before it stores loses deliveries', () => {
  const lives = [killed(...handled('a'), 'begin b'), closed(...handled('c'))]
  expect(verdictOn(lives, 'a', 'b', 'c', 'd').lost).toEqual(['b', 'd'])
})

it('an inbox that forgets what it recorded is found', () => {
  const lives = [killed(...handled('a')), closed(...handled('a'))]
  expect(verdictOn(lives, 'a')).toMatchObject({
    doubled: 1,
    faults: ['a was handled again after its success in process 0 was recorded'],
  })
})

it('an inbox that records nothing is found by the successes that are open', () => {
  const lives = [killed(...open('a'), ...open('b'), ...open('c')), closed(...handled('a'))]
  expect(verdictOn(lives, 'a', 'b', 'c').faults).toEqual(['process 0: 3 successes are not recorded at c'])
})

it('a graceful end excuses nothing', () => {
  const lives = [closed(...open('a')), closed(...handled('a'))]
  expect(verdictOn(lives, 'a').faults).toEqual([
    'process 0: a is not recorded, and the process ended gracefully',
    'a was handled again after its success in process 0 was recorded',
  ])
})

it('one process handles a delivery once, whether or not it is killed', () => {
  const lives = [killed(...open('a'), 'success a')]
  expect(verdictOn(lives, 'a').faults).toEqual(['process 0: a was handled twice in one process'])
})

it('a success has a beginning, a record has a success, a delivery has a sender, a line has a meaning', () => {
  const lives = [killed('success a', 'settled b', ...handled('stranger'), 'beg')]
  expect(verdictOn(lives, 'a', 'b').faults).toEqual([
    'process 0: a succeeded and never began',
    'process 0: b was recorded without a success',
    'process 0: no line of a log: beg',
    'stranger was handled and never sent',
  ])
})

it('judges several processes by the time: a kill excuses only attempts that begin after it', () => {
  const killedAt = (time: number, ...lines: string[]): Life => ({ lines, killed: true, killedAt: time })
  const first = ['begin a 100', 'success a 110']
  const second = ['begin a 300', 'success a 310', 'settled a 320']
  // Whichever was started first.
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

it('an outage of the server excuses a success that was open before it, in the same process too', () => {
  const twice = ['begin a 100', 'success a 110', 'begin a 300', 'success a 310', 'settled a 320']
  const verdictWith = (from: number, to: number, lines = twice) =>
    check(sent('a'), [closed(...lines)], CONCURRENCY, [{ from, to }])
  expect(verdictWith(105, 200)).toMatchObject({ doubled: 1, lost: [], faults: [] })
  expect(verdictWith(400, 500).faults).toEqual(['process 0: a was handled twice in one process'])
  expect(verdictWith(50, 60).faults).toContain('process 0: a was handled twice in one process')
  const recorded = [...twice.slice(0, 2), 'settled a 120', ...twice.slice(2)]
  expect(verdictWith(130, 200, recorded).faults).toEqual(['process 0: a was handled twice in one process'])
})
