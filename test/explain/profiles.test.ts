import { type ErrorCode, explain, type Profile } from 'geohook'
import { describe, expect, it } from 'vitest'
import { diagnosisOf } from './question.ts'
import { hmac, JSON_BODY, KEY } from './table.ts'

const HEX_ONLY: Profile = { name: 'hex only', signatureHeader: 'x-service', encoding: 'hex' }
const BASE64 = hmac(KEY, JSON_BODY).toString('base64')
const JSON_TYPE = { 'content-type': 'application/json' }

describe('explain, where its reading of a request could differ from that of the receiver', () => {
  it('uses the encoding of the profile', async () => {
    const request = { body: JSON_BODY, headers: { ...JSON_TYPE, 'x-service': BASE64 }, signatureKey: KEY }
    const { cause, evidence } = await diagnosisOf({ ...request, profile: HEX_ONLY })
    expect([cause, evidence]).toEqual([
      'signature_encoding',
      'The signature is not in hex, the only encoding that the receiver accepts.',
    ])
    const code: ErrorCode = 'signature_malformed'
    const head = await diagnosisOf({ ...request, body: undefined, code, profile: HEX_ONLY })
    expect(head.evidence).toBe('The value of the header x-service is not a signature in hex.')
  })

  it('recommends the profile for a sender that also sends handshakes', async () => {
    const headers = { ...JSON_TYPE, 'x-esriHook-Signature': `sha256=${BASE64}` }
    const { cause, fix } = await explain({ body: JSON_BODY, headers }, { signatureKey: KEY })
    expect([cause, fix]).toEqual([
      'signature_in_other_header',
      expect.stringMatching(/^For x-esriHook-Signature, set the option profile to 'arcgis'/),
    ])
  })

  it('finds the signature field of a form whose charset the receiver does not support', async () => {
    const signed = '{"a":1}'
    const { cause } = await diagnosisOf({
      body: `payload=${signed}&x-service=${hmac(KEY, signed).toString('hex')}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=iso-8859-1' },
      signatureKey: KEY,
    })
    expect(['signature_in_form_field', 'content_type_charset']).toContain(cause)
  })

  it('calls a key that the list has twice the newest one', async () => {
    const headers = { ...JSON_TYPE, 'x-service': BASE64 }
    expect((await explain({ body: JSON_BODY, headers }, { signatureKey: [KEY, KEY] })).cause).toBe('ok')
  })

  it('says that another media type is not supported, not that it is misspelt', async () => {
    const headers = { 'content-type': 'application/jsonl', 'x-service': BASE64 }
    expect((await explain({ body: JSON_BODY, headers }, { signatureKey: KEY })).cause).toBe(
      'content_type_unsupported',
    )
  })

  it('takes a code alone', async () => {
    expect((await explain({ code: 'body_timeout' })).cause).toBe('body_timeout')
  })

  it('treats null as no headers, as it does for other options', async () => {
    const { cause } = await explain({ body: JSON_BODY, headers: null as never }, { signatureKey: KEY })
    expect(cause).toBe('signature_header_missing')
  })

  it('counts the length of a key as work', async () => {
    const signatureKey = Buffer.alloc(60_000, 'Parcels')
    const headers = { 'x-service': '0'.repeat(64) }
    const { cause, evidence } = await explain({ body: '{}', headers }, { signatureKey })
    expect(cause).toBe('unexplained')
    expect(evidence).toContain('the limit on the work was reached')
  })

  it('emits no warning about a request that the receiver accepts', async () => {
    const warnings: unknown[] = []
    const keep = (warning: unknown): void => {
      warnings.push(warning)
    }
    process.on('warning', keep)
    const headers = { ...JSON_TYPE, 'x-service': BASE64 }
    await explain({ body: JSON_BODY, headers }, { signatureKey: KEY })
    await new Promise(setImmediate)
    process.off('warning', keep)
    expect(warnings).toEqual([])
  })

  it('names three mistakes', async () => {
    const signature = hmac(`${KEY}\n`, `1730385704.${JSON_BODY}`).toString('hex')
    const headers = { ...JSON_TYPE, 'x-signature': `t=1730385704,v1=${signature}` }
    const { cause, also } = await explain({ body: JSON_BODY, headers }, { signatureKey: KEY })
    expect([cause, also]).toEqual(['signed_text', ['key_whitespace', 'signature_in_other_header']])
  })
})
