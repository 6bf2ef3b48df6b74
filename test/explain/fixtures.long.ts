import { readFileSync } from 'node:fs'
import type { Cause } from 'geohook'
import { describe, expect, it } from 'vitest'
import { nearMisses } from './near-misses.ts'
import { diagnosisOf, type Question } from './question.ts'
import { expectNoSecrets, KEY } from './table.ts'

/** A request that a program signed. Keys and bytes are in base64. */
interface Fixture extends Pick<Question, 'url' | 'method'> {
  /** What was done. Names of requests without an explanation begin with `trap`. */
  name: string
  cause: Cause
  also?: Cause[]
  key?: string
  body?: string
  bytes?: string
  headers: Record<string, string>
}

const read = (language: string): Fixture[] =>
  JSON.parse(readFileSync(new URL(`fixtures/${language}.json`, import.meta.url), 'utf8')).rows

describe.each(['php', 'ruby', 'go', 'java'])('explain, requests of %s', (language) => {
  it.each(read(language).map((fixture) => [`${fixture.cause}: ${fixture.name}`, fixture] as const))(
    'says %s',
    async (_, { cause, also, key, body = '', bytes, headers, url, method }) => {
      const signatureKey = key === undefined ? KEY : Buffer.from(key, 'base64')
      const received = bytes === undefined ? body : Buffer.from(bytes, 'base64')
      const options: Question = { body: received, headers, url, method, signatureKey }
      const diagnosis = await diagnosisOf(options)
      expect({ cause: diagnosis.cause, also: diagnosis.also }).toEqual({ cause, also })
      expectNoSecrets(diagnosis, options)
      if (cause === 'unexplained') return
      const [miss] = nearMisses(options, diagnosis.evidence)
      if (miss)
        expect((await diagnosisOf(miss[1])).cause, miss[0]).toMatch(
          /^(unexplained|signature_header_missing)$/,
        )
    },
  )
})
