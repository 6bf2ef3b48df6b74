import { describe, expect, it } from 'vitest'

const load = (path: string) => import(new URL(`../../scripts/${path}`, import.meta.url).href)
const { largestT } = await load('timing/statistics.mjs')
const { judge } = await load('timing/verdict.mjs')
const { seeded } = await load('random.mjs')

/** Times in milliseconds: a minimum of some microseconds, plus up to 1 µs of noise. */
function times(microseconds: number, seed: number, length = 2000): number[] {
  const random = seeded(seed)
  return Array.from({ length }, () => (microseconds + random()) / 1000)
}

describe('largestT', () => {
  it.each([
    ['higher', 20, 10, 1],
    ['lower', 10, 20, -1],
  ])('finds that all times of the first sample are %s', (_, first, second, sign) => {
    const { t, difference } = largestT(times(first, 1), times(second, 2))
    expect(t * sign).toBeGreaterThan(1000)
    expect(difference * sign).toBeCloseTo(0.01, 3)
  })

  it('finds that all times differ if the samples have different lengths', () => {
    expect(largestT(times(10, 1, 3000), times(20, 2, 1000)).t).toBeLessThan(-1000)
    expect(largestT(times(10, 1, 1000), times(20, 2, 3000)).t).toBeLessThan(-1000)
  })

  it('finds that constant times are below the others', () => {
    expect(largestT(new Array(2000).fill(0.01), times(20, 2)).t).toBeLessThan(-1000)
  })

  it('returns 0 for equal samples', () => {
    expect(largestT(times(10, 1), times(10, 1))).toEqual({ t: 0, difference: 0 })
  })

  it('returns a small t for samples of the same distribution', () => {
    expect(Math.abs(largestT(times(10, 1), times(10, 2)).t)).toBeLessThan(4.5)
  })

  it('returns the difference of the means at the crop with the largest t', () => {
    const a = times(10, 1)
    const interrupted = times(11, 2).map((time, index) => (index % 10 === 0 ? time + 1 : time))
    const { t, difference } = largestT(a, interrupted)
    expect(t).toBeLessThan(-50)
    expect(difference).toBeCloseTo(-0.001, 4)
  })

  it.each([
    ['constant samples', [1.1, 1.1, 1.1], [2.3, 2.3, 2.3]],
    ['equal constant samples', new Array(3).fill(0.1), new Array(10).fill(0.1)],
    ['a sample with a single value', [1], [2, 3, 4]],
    ['an empty sample', [], [2, 3, 4]],
  ])('returns a t that is not finite for %s', (_, a, b) => {
    expect(largestT(a, b).t).not.toSatisfy(Number.isFinite)
  })
})

describe('judge', () => {
  const verdictOf = (a: number[], b: number[], kind?: string) => judge({ kind, visible: 2000, times: [a, b] })

  it('fails for samples that do not overlap', () => {
    expect(verdictOf(times(20, 1), times(10, 2))).toMatchObject({ verdict: 'visible', hasFailed: true })
  })

  it('fails for each kind of pair without a result', () => {
    const constant = new Array(100).fill(0.1)
    for (const kind of [undefined, 'public', 'control'])
      expect(verdictOf(constant, constant, kind)).toMatchObject({ verdict: 'no result', hasFailed: true })
  })

  it('accepts a certain difference below the limit', () => {
    const result = verdictOf(times(11, 1), times(10, 2))
    expect(result).toMatchObject({ verdict: 'too small to see', hasFailed: false })
  })

  it('fails for a difference of the means alone', () => {
    // 30% of the requests take 10 µs longer.
    const a = times(10, 1).map((time, index) => (index % 10 < 3 ? time + 0.01 : time))
    const result = verdictOf(a, times(10, 2))
    expect(result).toMatchObject({ verdict: 'visible', hasFailed: true })
    expect(Math.abs(result.difference)).toBeLessThan(1000)
    expect(result.meanDifference).toBeGreaterThan(2000)
  })

  it('fails for a control without a certain difference, and for no other kind', () => {
    const [a, b] = [times(10, 1), times(10, 2)]
    expect(verdictOf(a, b, 'control')).toMatchObject({ verdict: 'none', hasFailed: true })
    expect(verdictOf(a, b, 'public')).toMatchObject({ verdict: 'none', hasFailed: false })
    expect(verdictOf(a, b)).toMatchObject({ verdict: 'none', hasFailed: false })
  })

  it('accepts a visible difference of a control or a public pair', () => {
    const [a, b] = [times(20, 1), times(10, 2)]
    expect(verdictOf(a, b, 'control')).toMatchObject({ verdict: 'visible', hasFailed: false })
    expect(verdictOf(a, b, 'public')).toMatchObject({ verdict: 'visible', hasFailed: false })
  })
})
