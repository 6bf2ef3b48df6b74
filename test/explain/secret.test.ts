import type { Cause } from 'geohook'
import { createPayload } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { SECRET_CAUSES } from '../../src/explain/causes.ts'
import { warningsOf } from '../helpers/warnings.ts'
import { diagnosisOf, type Question } from './question.ts'
import { hmac, KEY } from './table.ts'

const BODY = JSON.stringify(createPayload('add', { dialect: 'organization', when: 1730385704000 }))
const HEX = hmac(KEY, BODY).toString('hex')
const TYPE = { 'content-type': 'application/json' }

const ask = (headers: Record<string, string>, options: Question = {}) =>
  diagnosisOf({
    profile: 'portal',
    signatureKey: KEY,
    body: BODY,
    headers: { ...TYPE, ...headers },
    ...options,
  })

type Row = [cause: Cause, evidence: RegExp, headers: Record<string, string>, options?: Question]

const ROWS: Row[] = [
  ['ok', /^The header secret contains the key\. The body is not signed\.$/, { secret: KEY }],
  ['ok', /key/, { secret: KEY }, { signatureKey: () => KEY }],
  ['ok', /redacted here/, { secret: '***' }],
  ['ok', /accepts requests without it/, {}, { unsigned: 'accept' }],
  ['ok', /registers a webhook/, {}, { body: '{"WebhookRegistry":{}}' }],
  [
    'ok',
    /header x-token contains the key/,
    { 'x-token': KEY },
    { profile: { name: 'a', secretHeader: 'X-Token' } },
  ],
  ['key_previous', /key 1 of the list/, { secret: 'old' }, { signatureKey: [KEY, 'old'] }],
  ['key_unknown', /returns null/, { secret: KEY }, { signatureKey: () => null }],
  [
    'key_unknown',
    /returns null/,
    { secret: KEY },
    { signatureKey: () => null, body: undefined, code: 'key_unknown' },
  ],
  ['key_empty', /empty/, { secret: KEY }, { signatureKey: '' }],
  ['secret_missing', /^The header secret is missing\. No other header/, {}],
  ['secret_missing', /^The header secret is empty\./, { secret: '' }],
  ['secret_missing', /missing/, {}, { body: undefined, code: 'signature_missing' }],
  ['secret_missing', /missing/, { 'x-request-id': '0'.repeat(64) }],
  ['secret_wrong', /SHA-256 of the header secret begins with/, { secret: 'something else' }],
  ['secret_wrong', /SHA-256/, { secret: '0'.repeat(64) }],
  ['secret_wrong', /more than once/, { secret: `${KEY}, ${KEY}` }],
  [
    'secret_wrong',
    /reported signature_mismatch.*redacted/,
    { secret: '***' },
    { code: 'signature_mismatch' },
  ],
  [
    'secret_wrong',
    /reported signature_mismatch.*redacted/,
    { secret: '***' },
    { code: 'signature_mismatch', body: undefined },
  ],
  [
    'sender_signs',
    /^The header x-esrihook-signature contains a signature of the body/,
    { 'X-EsriHook-Signature': HEX },
  ],
  ['sender_signs', /^The header x-service contains a signature\.$/, { 'x-service': 'a'.repeat(64) }],
  ['sender_signs', /^The header secret contains a signature of the body/, { secret: HEX }],
  [
    'sender_signs',
    /^The last field of the form, x-esriHook-Signature/,
    { 'content-type': 'application/x-www-form-urlencoded' },
    { body: `payload=${BODY}&x-esriHook-Signature=${HEX}` },
  ],
  ...['hello', ''].map((text): (typeof ROWS)[number] => [
    'secret_wrong',
    /SHA-256/,
    { secret: 'something else', 'content-type': 'application/x-www-form-urlencoded' },
    { body: `payload=${BODY}&x-service=${text}` },
  ]),
  ['key_whitespace', /white space/, { secret: ` ${KEY} ` }],
  ['key_whitespace', /white space/, { secret: KEY }, { signatureKey: `${KEY}\n` }],
  ['key_case', /^The header secret contains the key in upper case\.$/, { secret: KEY.toUpperCase() }],
  ['key_quotes', /quotes/, { secret: `"${KEY}"` }],
  ['key_encoding', /base64/, { secret: Buffer.from(KEY).toString('base64') }],
  ['content_type_missing', /content-type/, { secret: KEY, 'content-type': '', host: 'a' }],
  ['payload_cut_off', /./, { secret: '***' }, { body: '{', code: 'payload_malformed' }],
  ['delivery_too_old', /./, { secret: KEY }, { maxAge: 1000, clock: () => 1790000000000 }],
  ['handler_failed', /The header secret contains the key\.$/, { secret: KEY }, { code: 'handler_failed' }],
  ['method_not_allowed', /GET/, { secret: KEY }, { method: 'GET' }],
]

describe('explain, with the profile portal,', () => {
  it.each(ROWS)('says %s: %s', async (cause, evidence, headers, options) => {
    const diagnosis = await ask(headers, options)
    expect([diagnosis.cause, diagnosis.evidence]).toEqual([cause, expect.stringMatching(evidence)])
    expect(diagnosis.ok).toBe(cause === 'ok' || cause === 'key_previous')
    expect(diagnosis.evidence).toMatch(/^[A-Z].{10,}\.$/)
    for (const secret of [KEY, KEY.toUpperCase(), HEX, 'something else'])
      expect(JSON.stringify(diagnosis)).not.toContain(secret)
  })

  it('has two rows for every cause of its own', () => {
    for (const cause of Object.keys(SECRET_CAUSES))
      expect(ROWS.filter(([name]) => name === cause).length, cause).toBeGreaterThan(1)
  })

  it('refuses options that contradict the profile, and emits no warning', async () => {
    await expect(ask({ secret: KEY }, { signatureHeader: 'x-mine' })).rejects.toThrow(
      'signatureHeader contradicts',
    )
    expect(await warningsOf(() => ask({ secret: KEY }))).toEqual([])
  })
})
