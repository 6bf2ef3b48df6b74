import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { describeTable, type Row } from './table.ts'

/** A body that a program signed and sent differently. The signature is in hex, with the key of the other tables. */
interface Fixture {
  /** What was done. Names of rows without an explanation begin with `trap`. */
  name: string
  cause: Row['cause']
  /** The received bytes in base64. */
  body: string
  signature: string
}

const RUNTIMES = ['python', 'php', 'go', 'ruby', 'java', 'node', 'shell']

const fixtures = RUNTIMES.map((runtime) => {
  const text = readFileSync(new URL(`fixtures/body-${runtime}.json`, import.meta.url), 'utf8')
  return [runtime, JSON.parse(text) as Fixture[]] as const
})

describeTable(
  'wrapped',
  fixtures.flatMap(([runtime, rows]) =>
    rows.map<Row>(({ name, cause, body, signature }) => ({
      cause,
      name: `${runtime}: ${name}`,
      headers: () => ({ 'x-service': signature }),
      got: { body: Buffer.from(body, 'base64') },
    })),
  ),
)

describe('fixtures of bodies', () => {
  it.each(fixtures)('of %s have at least two traps', (_, rows) => {
    const traps = rows.filter(({ name }) => name.startsWith('trap'))
    expect(traps.length).toBeGreaterThanOrEqual(2)
    expect(traps).toEqual(rows.filter(({ cause }) => cause === 'unexplained'))
  })
})
