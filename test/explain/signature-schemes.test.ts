import { readFileSync } from 'node:fs'
import { type Cause, explain } from 'geohook'
import { describe, expect, it } from 'vitest'
import { expectNoSecrets, hmac, KEY } from './table.ts'

/** A request that a program in another language signed, and what `explain` must say about it. */
interface Fixture {
  name: string
  cause: Cause
  also?: Cause | Cause[]
  body: string
  headers: Record<string, string>
  method?: string
  url?: string
}

const RUNTIMES = ['python', 'php', 'go', 'ruby', 'java', 'node', 'openssl']

const read = (runtime: string): Fixture[] =>
  JSON.parse(readFileSync(new URL(`fixtures/scheme-${runtime}.json`, import.meta.url), 'utf8'))

/** Hashes that WebCrypto lacks do not matter here, because these tests run on Node.js. */
describe.each(RUNTIMES)('explain, requests signed by %s', (runtime) => {
  const fixtures = read(runtime)

  it.each(fixtures.map((fixture) => [`${fixture.cause}: ${fixture.name}`, fixture] as const))(
    'says %s',
    async (_, { name, cause, also, body, headers, method, url }) => {
      const options = { body, headers, method, url, signatureKey: KEY }
      const diagnosis = await explain(options)
      expect({ cause: diagnosis.cause, also: diagnosis.also }).toEqual({ cause, also: also && [also].flat() })
      expect(diagnosis.evidence).toMatch(/^[A-Z].{10,}\.$/)
      expectNoSecrets(diagnosis, options, [], [hmac(KEY, body)])
      if (name.startsWith('trap')) expect(['unexplained', 'signature_header_missing']).toContain(cause)
    },
  )

  it('has traps, and no duplicate names', () => {
    expect(fixtures.filter(({ name }) => name.startsWith('trap')).length).toBeGreaterThan(1)
    expect(new Set(fixtures.map(({ name }) => name)).size).toBe(fixtures.length)
  })
})
