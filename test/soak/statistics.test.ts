import { expect, it } from 'vitest'

const load = (path: string) => import(new URL(`../../scripts/${path}`, import.meta.url).href)
const { seeded } = await load('random.mjs')
const { theilSen, splitByCause } = await load('soak/statistics.mjs')
const { judgeResources, judgeAdapters, judgeRestarts } = await load('soak/verdict.mjs')

const REQUESTS = 400
const NOISE = 40_000

interface Sample {
  requests: number
  counts: number[]
  heap: number
  timers: number
}

interface Row {
  resource: string
  outcome: string
}

/** Samples of a heap that grows by some bytes per request to each of three adapters, with noise of 40 kB and outliers. */
function samplesOf({
  length,
  leaks = [0, 0, 0],
  level = 3e7,
}: {
  length: number
  leaks?: number[]
  level?: number
}) {
  const random = seeded(length)
  const leaked = [0, 0, 0]
  return Array.from({ length }, (_, index): Sample => {
    const counts = leaks.map(
      (_, adapter) => (adapter === Math.floor(random() * 3) ? 250 : 50) + random() * 50,
    )
    counts.forEach((count, adapter) => {
      leaked[adapter] = (leaked[adapter] ?? 0) + count * (leaks[adapter] ?? 0)
    })
    const garbage = index % 7 === 3 ? 500_000 : 0
    const heap = level + leaked.reduce((sum, bytes) => sum + bytes, 0) + (random() - 0.5) * NOISE + garbage
    return { requests: counts.reduce((sum, count) => sum + count, 0), counts, heap, timers: 4 }
  })
}

const outcomesOf = (generations: Sample[][]) =>
  Object.fromEntries(
    judgeResources(generations)
      .filter(({ resource }: Row) => resource === 'heap' || resource === 'timers')
      .map(({ resource, outcome }: Row) => [resource, outcome]),
  )

it('finds the slope of several series at different levels, despite outliers', () => {
  const seriesOf = (level: number) =>
    samplesOf({ length: 20, level }).map(({ heap }, index) => [
      index * REQUESTS,
      heap + index * REQUESTS * 100,
    ])
  const { slope, low, high } = theilSen([seriesOf(3e7), seriesOf(9e7)])
  expect(slope).toBeGreaterThan(90)
  expect(slope).toBeLessThan(110)
  expect(low).toBeLessThan(100)
  expect(high).toBeGreaterThan(100)
})

it('has an interval at the ranks of Sen, rounded outwards', () => {
  for (const { length, rank } of [
    { length: 7, rank: 1 },
    { length: 8, rank: 3 },
    { length: 9, rank: 5 },
  ]) {
    const points = Array.from({ length }, (_, x): [number, number] => [x, 3 ** x])
    const slopes = points
      .flatMap(([x, y], index) =>
        points.slice(index + 1).map(([laterX, laterY]) => (laterY - y) / (laterX - x)),
      )
      .sort((a, b) => a - b)
    expect(theilSen([points])).toMatchObject({ low: slopes.at(rank - 1), high: slopes.at(-rank) })
  }
})

it('has an endless interval if there are too few points', () => {
  for (const series of [
    [],
    [[[0, 1]]],
    [
      [
        [0, 1],
        [1, 2],
        [2, 3],
      ],
    ],
  ]) {
    expect(theilSen(series)).toMatchObject({ low: -Infinity, high: Infinity })
  }
})

it('calls a heap without a leak flat, and one with 100 bytes per request a leak', () => {
  const clean = { length: 15 }
  expect(outcomesOf([samplesOf(clean)])).toEqual({ heap: 'flat', timers: 'flat' })
  const leaks = [100, 100, 100]
  expect(outcomesOf([samplesOf({ ...clean, leaks })])).toEqual({ heap: 'leak', timers: 'flat' })
  expect(outcomesOf([samplesOf({ length: 3 })])).toMatchObject({ heap: 'unclear' })
})

it('finds the adapter that leaks', () => {
  // Without outliers, because least squares are sensitive to them.
  const steps = samplesOf({ length: 200, leaks: [0, 300, 0] }).map(({ counts }, index) => ({
    counts,
    increment: (counts[1] ?? 0) * 300 + (((index * 37) % 100) - 49.5) * 400,
  }))
  const slopes = splitByCause(steps)
  expect(slopes).toHaveLength(3)
  for (const [adapter, expected] of [0, 300, 0].entries()) {
    expect(slopes[adapter].low).toBeLessThan(expected)
    expect(slopes[adapter].high).toBeGreaterThan(expected)
  }
  expect(slopes[1].low).toBeGreaterThan(200)
})

it('does not judge adapters if there are too few samples', () => {
  expect(judgeAdapters([samplesOf({ length: 8 })], ['a', 'b', 'c'])).toEqual([
    { resource: 'heap by adapter', outcome: 'not judged' },
  ])
  expect(judgeAdapters([samplesOf({ length: 60 })], ['a', 'b', 'c'])).toHaveLength(3)
})

it('calls an adapter flat that leaves garbage until the next block', () => {
  const random = seeded(7)
  const outcomesFor = (leak: number) => {
    const samples: Sample[] = []
    let leaked = 0
    for (let index = 0; index < 200; index++) {
      const counts = [0, 1, 2].map((adapter) => (adapter === index % 3 ? 250 : 50) + random() * 50)
      const requests = counts.reduce((sum, count) => sum + count, 0)
      leaked += (counts[1] ?? 0) * leak
      samples.push({
        requests,
        counts,
        heap: 3e7 + leaked + (counts[2] ?? 0) * 300 + random() * 1_000,
        timers: 4,
      })
    }
    return judgeAdapters([samples], ['a', 'b', 'c']).map(({ outcome }: Row) => outcome)
  }
  expect(outcomesFor(0)).toEqual(['flat', 'flat', 'flat'])
  expect(outcomesFor(300)[1]).toBe('leak')
})

it('judges restarts, and the heap only after many of them', () => {
  const outcomesFor = (length: number, bytes: number) =>
    Object.fromEntries(
      judgeRestarts(
        samplesOf({ length }).map(({ heap }, index) => ({ heap: heap + index * bytes, files: 20 + index })),
      ).map(({ resource, outcome }: Row) => [resource, outcome]),
    )
  expect(outcomesFor(30, 0)).toMatchObject({ 'heap, closed': 'flat', 'files, closed': 'leak' })
  expect(outcomesFor(30, 100_000)).toMatchObject({ 'heap, closed': 'leak', 'files, closed': 'leak' })
  expect(outcomesFor(9, 100_000)).toMatchObject({ 'heap, closed': 'not judged', 'files, closed': 'leak' })
})
