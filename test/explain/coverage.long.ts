import { explain } from 'geohook'
import { beforeAll, describe, expect, it } from 'vitest'
import { type AnyFixture, readFixtures } from './all-fixtures.ts'
import { isNamed, listHypotheses } from './hypotheses.ts'
import { NOT_AVAILABLE } from './hypotheses-without-fixtures.ts'
import { IN_EVIDENCE, IN_VALUE } from './notation-names.ts'

const fixtures = readFixtures()
const explained: (AnyFixture & { evidence: string; found: unknown })[] = []

const distinct = (values: readonly unknown[]): Buffer[] => [
  ...new Map(
    values.map((value) => Buffer.from(value as string)).map((bytes) => [bytes.toString('base64'), bytes]),
  ).values(),
]

// Explaining all fixtures takes half a minute on an idle machine.
beforeAll(async () => {
  for (const fixture of fixtures) {
    const { cause, also, evidence } = await explain(fixture.options)
    explained.push({ ...fixture, evidence, found: { cause, also } })
  }
})

/** Returns the hypotheses that fewer than two fixtures prove. */
const lacking = (
  names: readonly string[],
  isProof: (name: string, fixture: (typeof explained)[number]) => boolean,
): string[] =>
  names.filter(
    (name) => !NOT_AVAILABLE.has(name) && explained.filter((fixture) => isProof(name, fixture)).length < 2,
  )

describe('fixtures of explain', () => {
  it('each have the cause that their generator names', () => {
    const wrong = explained.filter(
      ({ found, cause, also }) => JSON.stringify(found) !== JSON.stringify({ cause, also }),
    )
    expect(wrong.map(({ file, name, found }) => ({ file, name, found }))).toEqual([])
  })

  it('prove each hypothesis of the tables twice', async () => {
    const hypotheses = await listHypotheses(
      distinct(fixtures.map(({ options }) => options.body)),
      distinct(fixtures.flatMap(({ options }) => options.signatureKey)),
    )
    for (const [group, names] of Object.entries(hypotheses)) {
      expect({ group, lacking: lacking(names, (name, { evidence }) => isNamed(name, evidence)) }).toEqual({
        group,
        lacking: [],
      })
    }
  })

  it('prove each notation and place of a signature twice', () => {
    expect(lacking(IN_EVIDENCE, (name, { evidence }) => evidence.includes(name))).toEqual([])
    const hasForm = (name: string, { cause, options }: AnyFixture): boolean =>
      cause.startsWith('signature_') &&
      (IN_VALUE[name] as RegExp).test((options.headers as Record<string, string>)['x-service'] ?? '')
    expect(lacking(Object.keys(IN_VALUE), hasForm)).toEqual([])
  })

  it('have no exceptions that fixtures prove', () => {
    const proved = [...NOT_AVAILABLE.keys()].filter((name) =>
      explained.some(({ evidence }) => isNamed(name, evidence)),
    )
    expect(proved).toEqual([])
  })
})
