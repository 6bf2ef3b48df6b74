import { describe, expect, it } from 'vitest'
import { startNode } from '../helpers/process.ts'

const load = (path: string) => import(new URL(`../../bench/${path}`, import.meta.url).href)
const bench = (...args: string[]) => startNode(['bench/main.mjs', ...args])

describe('the benchmark suite', () => {
  it('prints its options and parts with --help', async () => {
    const { PARTS } = await load('parts.mjs')
    const help = bench('--help')
    expect(await help.exited, help.output).toBe(0)
    expect(help.stdout).toContain(PARTS.join())
  })

  it('rejects an unknown part before it builds anything', async () => {
    const unknown = bench('--only', 'verify,speed')
    expect(await unknown.exited).toBe(1)
    expect(unknown.stderr).toContain('unknown part speed')
  })

  it('shuffles each round, and ignores warm-up rounds', async () => {
    const { interleave } = await load('lib/rounds.mjs')
    const order: string[] = []
    const figures = await interleave(['a', 'b', 'c'], {
      rounds: 99,
      warmup: 1,
      measure(subject: string, round: number) {
        order.push(subject)
        return { round }
      },
    })
    const rounds = Array.from({ length: 100 }, (_, round) => order.slice(round * 3, round * 3 + 3).join(''))
    // With 100 rounds, the probability that one of the six orders is missing is one in ten million.
    expect(new Set(rounds)).toEqual(new Set(['abc', 'acb', 'bac', 'bca', 'cab', 'cba']))
    const each = Array.from({ length: 99 }, (_, round) => ({ round }))
    expect(Object.fromEntries(figures)).toEqual({ a: each, b: each, c: each })
  })

  it('ends early with precise ratios, or when its time is over', async () => {
    const { interleave } = await load('lib/rounds.mjs')
    const roundsOf = async (options: object) => {
      const figures = await interleave(['a', 'b'], { rounds: 50, warmup: 0, ...options })
      return figures.get('b').length
    }
    const noisy = (subject: string, round: number) => (subject === 'a' ? 1 : 1 + (round % 2))
    expect(await roundsOf({ measure: (subject: string) => (subject === 'a' ? 1 : 2) })).toBe(6)
    expect(await roundsOf({ measure: noisy })).toBe(50)
    expect(await roundsOf({ measure: noisy, seconds: -1 })).toBe(6)
    expect(await roundsOf({ measure: noisy, seconds: -1, rounds: 2 })).toBe(2)
  })

  it('computes medians with 95 % intervals, and ratios within each round', async () => {
    const { ratio, summarize } = await load('lib/rounds.mjs')
    expect(summarize([5, 1, 4, 2, 3])).toEqual({ median: 3, low: 1, high: 5 })
    expect(summarize([1, 2])).toEqual({ median: 1.5, low: 1, high: 2 })
    expect(summarize([1])).toEqual({ median: 1, low: 1, high: 1 })
    // From tables of the sign test: the 2nd and the 8th of 9 figures, the 8th and the 18th of 25.
    const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
    expect(summarize(upTo(9))).toEqual({ median: 5, low: 2, high: 8 })
    expect(summarize(upTo(25))).toEqual({ median: 13, low: 8, high: 18 })
    // Every other round is slow for both subjects. This must not change the ratio.
    expect(ratio([2, 20, 2, 20], [1, 10, 1, 10])).toEqual({ median: 2, low: 2, high: 2 })
  })

  it('reports for every goal whether it is reached', async () => {
    const { toGoalsTable } = await load('lib/goals-table.mjs')
    const of = (median: number) => ({ median, low: median, high: median })
    const { rows } = toGoalsTable({ 'verify/1KiB': of(0.8), 'verify/256B': of(0.81), 'http/node': of(0.96) })
    const verdicts = Object.fromEntries(rows.map((row: string[]) => [row[0], row.at(-1)]))
    expect(verdicts).toMatchObject({
      'verify/1KiB': 'reached',
      'verify/256B': 'not reached',
      'http/node': 'not reached',
      'http/hono': 'not measured',
    })
  })

  it('detects missing figures in the report of a part', async () => {
    const { missingIn } = await load('lib/missing.mjs')
    const figure = { median: 1, low: 1, high: 1 }
    const table = { title: 'a table', columns: ['a'], rows: [['1']] }
    const complete = { figures: { 'mock/deliveries': figure }, tables: [table], plots: [] }
    expect(missingIn('mock', complete)).toEqual([])
    expect(missingIn('mock', { ...complete, figures: {} })).toEqual(['no figure mock/deliveries'])
    const nan = { 'mock/deliveries': { ...figure, median: Number.NaN } }
    expect(missingIn('mock', { ...complete, figures: nan })).toEqual(['no figure mock/deliveries'])
    expect(missingIn('mock', { ...complete, tables: [{ ...table, rows: [] }] })).toHaveLength(1)
    expect(missingIn('mock', { ...complete, figures: {}, leftOut: ['mock/deliveries'] })).toEqual([])
  })
})
