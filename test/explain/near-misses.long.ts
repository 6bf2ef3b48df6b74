import { explain } from 'geohook'
import { expect, it } from 'vitest'
import { readFixtures } from './all-fixtures.ts'
import { nearMisses } from './near-misses.ts'

/** Causes that say that nothing was found. */
const NOTHING = ['unexplained', 'signature_header_missing', 'body_empty']

/** Fixtures of each diagnosis from which near misses are derived. `FIXTURES=100` takes all. */
const FIXTURES = Number(process.env.FIXTURES ?? 1)

/** The share of the diagnoses that this run tests, because all take three minutes. `PARTS=1` tests all. */
const PARTS = Number(process.env.PARTS ?? 32)
const seed = Number(process.env.SEED ?? Date.now() % 1000)

it(`explains none of two near misses of each known mistake, 1 of ${PARTS} parts, seed ${seed}`, async () => {
  const seen = new Map<string, number>()
  const wrong: string[] = []
  const few: string[] = []
  let count = 0
  for (const [index, { file, name, options }] of readFixtures().entries()) {
    if (index % PARTS !== seed % PARTS) continue
    const { cause, evidence } = await explain(options)
    const before = seen.get(evidence) ?? 0
    if (NOTHING.includes(cause) || before >= FIXTURES) continue
    seen.set(evidence, before + 1)
    const misses = nearMisses(options, evidence)
    if (misses.length < 2) few.push(`${file}, ${name}: ${evidence}`)
    for (const [change, changed] of misses) {
      count++
      const found = await explain(changed)
      if (!NOTHING.includes(found.cause))
        wrong.push(`${file}, ${name}, ${change}: ${found.evidence} Before: ${evidence}`)
    }
  }
  console.log(`${count} near misses of ${seen.size} diagnoses`)
  expect(few).toEqual([])
  expect(wrong).toEqual([])
}, 3_600_000)
