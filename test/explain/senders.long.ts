import { execFileSync } from 'node:child_process'
import type { Cause } from 'geohook'
import { describe, expect, it } from 'vitest'
import { nearMisses } from './near-misses.ts'
import { diagnosisOf, type Question } from './question.ts'
import { KEY } from './table.ts'

/** What a program in senders/ prints for each request that it made and changed. Keys and bytes are in base64. */
interface Made {
  name: string
  cause: Cause
  also?: Cause | Cause[]
  /** The key of the receiver, in programs that change keys. */
  got?: string
  body?: string
  headers?: Record<string, string>
  method?: string
  url?: string
  signature?: string
}

function make(program: string): [name: string, made: Made, options: Question][] {
  const command = program.endsWith('.py') ? 'python3' : process.execPath
  const cwd = new URL('senders/', import.meta.url)
  const rows: Made[] = JSON.parse(
    execFileSync(command, [program], { cwd, maxBuffer: 2 ** 26, encoding: 'utf8' }),
  )
  return rows.map((made) => {
    const { got, signature = '', method, url } = made
    const headers = made.headers ?? { 'x-service': signature }
    const signatureKey = got === undefined ? KEY : Buffer.from(got, 'base64')
    const body =
      got !== undefined ? '{"events":[]}' : made.headers ? made.body : Buffer.from(made.body ?? '', 'base64')
    return [`${made.cause}: ${made.name}`, made, { body, headers, method, url, signatureKey }]
  })
}

/** Mistakes that are too rare to search for. */
const UNKNOWN =
  /blake|sm3|utf-32|surrogates|iso-8859-15|base32|b32|uuid.bytes_le|hex with colons|hex.*colons|sha3_(224|384|512)|HMAC over the key|plain.*(sha3|ripemd|512.2)/i

describe.each(['body.py', 'key.py', 'scheme.py', 'body.mjs', 'key.mjs', 'scheme.mjs'])(
  'requests of %s',
  (program) => {
    it.each(make(program))('are explained as %s', async (_, { name, cause, also }, options) => {
      const diagnosis = await diagnosisOf(options)
      if (UNKNOWN.test(name)) return expect(['unexplained', cause]).toContain(diagnosis.cause)
      expect({ cause: diagnosis.cause, also: diagnosis.also }).toEqual({ cause, also: also && [also].flat() })
      for (const [miss, changed] of cause === 'unexplained' ? [] : nearMisses(options, diagnosis.evidence))
        expect((await diagnosisOf(changed)).cause, miss).toMatch(
          /^(unexplained|signature_header_missing|body_empty)$/,
        )
    })
  },
)
