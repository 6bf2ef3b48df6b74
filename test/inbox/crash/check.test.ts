import { expect, it } from 'vitest'
import { check, checkNames, type ProcessLog } from './check.ts'

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

const HANDLERS = [
  { changeType: '*' },
  { name: 'erp', changeType: '*', attempts: 2 },
  { name: 'mail', changeType: 'esriJobFailed' },
]
const end = (task: string, how: string, number: number, time: number): string[] => [
  `begin ${task} #${number} ${time}`,
  `${how} ${task} #${number} ${time + 5}`,
]
/** A recorded success or failure. */
const ended = (task: string, how: string, number = 1, time = number * 100): string[] => [
  ...end(task, how, number, time),
  `settled ${task} #${number} ${time + 6}`,
]
const dead = (task: string, number: number): string[] => [
  ...end(task, 'failure', number, number * 100),
  `dead ${task} #${number} ${number * 100 + 6}`,
]
const killedAt = (time: number, ...lines: string[]): ProcessLog => ({ lines, killed: true, killedAt: time })

/** The verdict on one delivery, `a`. The fates are texts such as `a/erp done 1`. */
function verdictOnNames(logs: ProcessLog[], fates: string[], got = fates, changeType = 'esriJobSucceeded') {
  const toFates = (texts: string[]) =>
    texts.map((text) => {
      const [task = '', state = '', attempts] = text.split(' ')
      return { task, state, attempts: Number(attempts) }
    })
  const run = { handlers: HANDLERS, concurrency: CONCURRENCY, listed: toFates(fates), got: toFates(got) }
  return checkNames([{ id: 'a', acknowledged: true, changeType }], logs, run)
}

it('accepts fates that end by themselves, and attempts that a kill has interrupted', () => {
  const logs = [
    killedAt(250, ...ended('a', 'success'), ...ended('a/erp', 'failure'), 'begin a/erp #2 200'),
    killedAt(400, ...end('a/mail', 'success', 1, 110)),
    closed(...ended('a/mail', 'success', 2, 500), 'dead a/erp #2 500'),
  ]
  const fates = ['a done 1', 'a/erp dead 2', 'a/mail done 2']
  expect(verdictOnNames(logs, fates, fates, 'esriJobFailed')).toEqual({
    sent: 1,
    acknowledged: 1,
    fates: 3,
    handled: 2,
    doubled: 1,
    failures: 1,
    dead: 1,
    lost: [],
    faults: [],
  })
})

it('reports a name that a delivery was never handled under, and a fate that no handler has', () => {
  const logs = [closed(...ended('a', 'success'))]
  expect(verdictOnNames(logs, ['a done 1'])).toMatchObject({
    lost: ['a/erp'],
    faults: ['a/erp is missing in the inbox'],
  })
  expect(verdictOnNames(logs, ['a done 1', 'a/erp done 1'])).toMatchObject({
    lost: ['a/erp'],
    faults: [
      'a/erp: the inbox has 1 attempts, and not undefined',
      'a/erp is done, and its last attempt did not succeed',
    ],
  })
  const both = [...logs, closed(...ended('a/erp', 'success'), ...ended('a/mail', 'success'))]
  const { faults } = verdictOnNames(both, ['a done 1', 'a/erp done 1', 'a/mail done 1'])
  expect(faults).toEqual(['a/mail was handled and never sent', 'a/mail is in the inbox, and has no handler'])
})

it('reports a success that is repeated because another handler has failed', () => {
  const fates = ['a done 2', 'a/erp done 2']
  const first = [...ended('a', 'success'), ...ended('a/erp', 'failure')]
  const second = [...ended('a', 'success', 2), ...ended('a/erp', 'success', 2)]
  expect(verdictOnNames([closed(...first, ...second)], fates)).toMatchObject({
    doubled: 1,
    faults: [
      'process 0: a was handled twice in one process',
      'a: attempt 2 began after a success in process 0 was recorded',
    ],
  })
  // A kill after the failure does not excuse the recorded success.
  expect(verdictOnNames([killedAt(150, ...first), closed(...second)], fates).faults).toEqual([
    'a was handled again after its success in process 0 was recorded',
    'a: attempt 2 began after a success in process 0 was recorded',
  ])
})

it('reports wrong numbers of attempts', () => {
  const faultsOf = (fate: string, ...lines: string[]) =>
    verdictOnNames([closed(...ended('a', 'success'), ...lines)], ['a done 1', fate]).faults
  const failed = ended('a/erp', 'failure')
  expect(faultsOf('a/erp done 2', ...failed, ...ended('a/erp', 'success', 2))).toEqual([])
  expect(faultsOf('a/erp done 1', ...failed, ...ended('a/erp', 'success', 1, 200))).toEqual([
    'a/erp: attempt 1 follows attempt 1',
  ])
  expect(faultsOf('a/erp done 2', ...ended('a/erp', 'success', 2))).toEqual([
    'a/erp: attempt 2 follows attempt 0',
  ])
  expect(faultsOf('a/erp done 3', ...failed, ...ended('a/erp', 'success', 2))).toEqual([
    'a/erp: the inbox has 3 attempts, and not 2',
  ])
  const tooMany = [...failed, ...ended('a/erp', 'failure', 2), ...ended('a/erp', 'success', 3)]
  expect(faultsOf('a/erp done 3', ...tooMany)).toEqual(['a/erp: attempt 3 of 2'])
  expect(faultsOf('a/erp dead 2', ...dead('a/erp', 1))).toEqual(['a/erp: attempt 3 follows attempt 1'])
  expect(faultsOf('a/erp dead 2', ...failed, ...dead('a/erp', 2))).toEqual([])
})

it('reports an attempt that begins while another process handles the task', () => {
  const logs = [
    closed(...ended('a', 'success'), 'begin a/erp #1 100'),
    closed(...ended('a/erp', 'success', 2)),
  ]
  expect(verdictOnNames(logs, ['a done 1', 'a/erp done 2']).faults).toEqual([
    'a/erp: attempt 2 began while process 0 handled it',
  ])
})

it('allows a hidden attempt for each kill, and no more', () => {
  const logs = [
    killedAt(150, ...ended('a', 'success')),
    closed(...ended('a/erp', 'success', 2), ...ended('a/mail', 'success', 2)),
  ]
  const fates = ['a done 1', 'a/erp done 2']
  const withMail = [...fates, 'a/mail done 2']
  expect(
    verdictOnNames([...logs.slice(0, 1), closed(...ended('a/erp', 'success', 2))], fates).faults,
  ).toEqual([])
  expect(verdictOnNames(logs, withMail, withMail, 'esriJobFailed').faults).toEqual([
    '2 attempts were counted and never began, in 1 kills',
  ])
})

it('reports fates that have not ended, and those that list() and get() return differently', () => {
  const logs = [closed(...ended('a', 'success'), ...ended('a/erp', 'failure'))]
  expect(verdictOnNames(logs, ['a done 1', 'a/erp waiting 1'], ['a done 1'])).toMatchObject({
    lost: ['a/erp'],
    faults: ['a/erp is waiting at the end', 'list() returns a/erp waiting 1, and get() less'],
  })
})
