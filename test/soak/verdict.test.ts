import { afterEach, expect, it, vi } from 'vitest'

const load = (path: string) => import(new URL(`../../scripts/soak/${path}`, import.meta.url).href)
const { judgeResources } = await load('verdict.mjs')
const { printVerdict } = await load('report.mjs')

afterEach(() => vi.restoreAllMocks())

/** The verdict on the numbers of timers in each generation; the first sample of each is ignored. */
const judgeTimers = (...generations: number[][]) =>
  judgeResources(
    generations.map((counts) => counts.map((timers) => ({ requests: 1_200, heap: 3e7, timers }))),
  ).find(({ resource }: { resource: string }) => resource === 'timers')

it('calls a count that grows by 2 a leak, however many requests there were', () => {
  const hour = Array<number>(500).fill(4)
  expect(judgeTimers(hour)).toMatchObject({ growth: 0, outcome: 'flat' })
  expect(judgeTimers([...hour, ...hour.map(() => 6)])).toMatchObject({ growth: 2, outcome: 'leak' })
  expect(judgeTimers([4, 4, 4, 5, 5, 6, 6])).toMatchObject({ growth: 2, outcome: 'leak' })
  expect(judgeTimers(hour, [4, 4, 4, 5, 6, 7, 7], hour)).toMatchObject({ growth: 3, outcome: 'leak' })
})

it('calls a count flat if its growth does not stay, or is 1 in each generation', () => {
  expect(judgeTimers([4, 4, 4, 9, 4, 4])).toMatchObject({ outcome: 'flat' })
  expect(judgeTimers([4, 4, 4, 4, 9])).toMatchObject({ outcome: 'flat' })
  expect(judgeTimers([9, 4, 3, 4, 4])).toMatchObject({ outcome: 'flat' })
  expect(judgeTimers([4, 4, 4, 5, 5], [5, 5, 5, 6, 6], [6, 6, 6, 7, 7])).toMatchObject({ outcome: 'flat' })
})

it('does not judge a count without enough samples, or one that the system does not have', () => {
  expect(judgeTimers([4, 4, 9, 9])).toEqual({ resource: 'timers', outcome: 'not judged' })
  const rows = judgeResources([Array(15).fill({ requests: 400, heap: 3e7, timers: 4 })])
  expect(rows).toContainEqual({ resource: 'files', outcome: 'not judged' })
})

it('exits with 1 for a leak or a fault, and with 3 if any row is unclear', () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  const clean = { resource: 'heap', slope: 0, low: 0, high: 0, limit: 50, outcome: 'flat' }
  const codeFor = ({ faults = [], ...rows }: { faults?: [string, number][]; [part: string]: unknown }) =>
    printVerdict({ run: { faults }, resources: [clean], adapters: [clean], restarts: [clean], ...rows })
  expect(codeFor({})).toBe(0)
  expect(codeFor({ adapters: [{ resource: 'heap by adapter', outcome: 'not judged' }] })).toBe(0)
  expect(error).not.toHaveBeenCalled()
  const unclear = [{ ...clean, resource: 'heap, Koa 3', outcome: 'unclear' }]
  for (const part of ['resources', 'adapters', 'restarts']) expect(codeFor({ [part]: unclear })).toBe(3)
  expect(error).toHaveBeenLastCalledWith(expect.stringContaining('unclear: heap, Koa 3'))
  expect(codeFor({ resources: unclear, faults: [['lost', 2]] })).toBe(1)
  const leak = [{ resource: 'timers', growth: 2, limit: 2, outcome: 'leak' }]
  expect(codeFor({ restarts: leak })).toBe(1)
  expect(error).toHaveBeenLastCalledWith('leak: timers grows by 2')
})
