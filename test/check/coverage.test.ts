import { readFileSync } from 'node:fs'
import { SCENARIOS } from 'geohook/check'
import { describe, expect, it } from 'vitest'
import { FLAWS, OPTIONAL } from './flawed/flaws.ts'
import { PYTHON_FLAWS } from './python/flaws.ts'

/** Scenarios that no receiver in FLAWS can fail, by the test in which they fail. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  // The correct receiver written by hand fails them.
  ...Object.fromEntries(OPTIONAL.map((id) => [id, 'flawed/flaws.ts'])),
  // These measure times, so no other test may run at the same time.
  'uniform-refusal-time': 'refusal-times.long.ts',
  'unknown-tenant-time': 'refusal-times.long.ts',
  // The receivers in FLAWS have no certificate.
  'tls-used': 'tls.test.ts',
  'tls-chain': 'tls.test.ts',
  'tls-host-name': 'tls.test.ts',
  'tls-expiry': 'tls.test.ts',
  'tls-version': 'tls.test.ts',
}

const found = new Set([
  ...Object.values(FLAWS).flatMap(({ finds }) => finds),
  ...Object.values(PYTHON_FLAWS).flatMap(({ fails }) => fails),
])

it('each scenario finds a flaw', () => {
  const ids = SCENARIOS.map(({ id }) => id)
  expect(ids.filter((id) => !found.has(id))).toEqual(ids.filter((id) => id in ELSEWHERE))
})

describe('a scenario that finds no flaw', () => {
  it.each(Object.entries(ELSEWHERE))('%s is tested in %s', (id, file) => {
    expect(SCENARIOS.map((scenario) => scenario.id)).toContain(id)
    expect(readFileSync(new URL(file, import.meta.url), 'utf8')).toContain(`'${id}'`)
  })
})
