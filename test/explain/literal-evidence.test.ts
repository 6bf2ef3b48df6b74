import { explain } from 'geohook'
import { describe, expect, it } from 'vitest'
import { JSON_TYPE, signed } from './refuse.ts'
import { describeRows, hmac, KEY } from './table.ts'

const notation = /over the same JSON in another notation\.$/

/** The evidence must not name a program that would have written something else. */
describeRows('explain, literal evidence', [
  ...['{ "a": 1, "a": 2 }', '{ "2": 1, "1": 2 }', '{ "b": 1, "7": 2 }'].map((received) => ({
    cause: 'body_reserialized' as const,
    name: `${received} without white space`,
    sent: { body: received.replaceAll(' ', '') },
    got: { body: received },
    evidence: notation,
  })),
  {
    cause: 'body_reserialized',
    name: 'indexes in the order of JavaScript',
    sent: { body: '{"1":1,"2":2,"b":0}' },
    got: { body: '{ "1":1,"2":2,"b":0 }' },
    evidence: /as JSON\.stringify writes it\.$/,
  },
  {
    cause: 'key_whitespace',
    name: 'a space here, a line feed there',
    sent: { key: `${KEY}\n` },
    got: { key: Buffer.from(`${KEY} `) },
    evidence: /with "\\n" after it, after white space around the key on this side was removed\.$/,
  },
  {
    cause: 'key_whitespace',
    name: 'a space here alone',
    sent: { key: KEY },
    got: { key: Buffer.from(`${KEY} `) },
    evidence: /with the key without white space around it\.$/,
  },
  {
    cause: 'key_empty',
    name: 'an empty key there, a space here',
    sent: { key: '' },
    got: { key: Buffer.from(`${KEY} `) },
    evidence: /with an empty key\.$/,
  },
])

describe('explain, codes of another receiver', () => {
  const request = { headers: { ...JSON_TYPE, ...signed('{}') }, body: '{}' }

  it.each([
    ['a static key', KEY],
    ['a function that returns a key', () => KEY],
  ])('does not claim a missing key for %s', async (_, signatureKey) => {
    for (const body of ['{}', undefined]) {
      const { cause, evidence } = await explain({
        ...request,
        body,
        signatureKey,
        code: 'key_unknown',
      } as never)
      expect(cause).toBe('key_unknown')
      expect(evidence).toMatch(/reported key_unknown, but the options give a key for this request here\./)
    }
  })

  it('does not call a signature valid whose encoding is excluded', async () => {
    const headers = { ...JSON_TYPE, 'x-service': hmac(KEY, '{}').toString('base64') }
    const options = {
      headers,
      body: '{}',
      signatureKey: KEY,
      encoding: 'hex',
      code: 'receiver_busy',
    } as const
    expect((await explain(options)).evidence).toMatch(/The request has no valid signature\.$/)
    expect((await explain({ ...options, encoding: 'base64' })).evidence).toMatch(/The signature is valid\.$/)
  })
})
