import { createHmac } from 'node:crypto'
import type { ErrorCode } from 'geohook'
import { expect } from 'vitest'
import { type Sent, send } from '../../helpers/http.ts'
import type { SetupName } from '../setups.ts'
import { deliveriesOf, linesOf } from '../subject.ts'
import { BODY, type ContractCase, JSON_TYPE, signatureOf, signed } from './case.ts'

/** The response body for every signature failure. */
const UNAUTHORIZED = '{"title":"Unauthorized","status":401,"code":"unauthorized"}'

type Value = string | string[] | undefined

const refusal = (
  description: string,
  signature: Value,
  code: ErrorCode,
  setup: SetupName = 'plain',
): ContractCase => ({
  name: `rejects ${description} with the same 401`,
  codes: [code],
  async run(start) {
    const subject = await start(setup)
    const headers: Sent['headers'] = { 'content-type': JSON_TYPE }
    if (signature !== undefined) headers['x-service'] = signature
    const answer = await send(subject.url, { headers, body: BODY })
    if (Array.isArray(signature) && subject.host.keepsLast) {
      expect(answer.status).toBe(200) // the host passes on only the last header, which is valid
      return
    }
    expect([answer.status, answer.text]).toEqual([401, UNAUTHORIZED])
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer.headers['www-authenticate']).toBe('HMAC-SHA256')
    expect(await linesOf(subject)).toEqual([`refused ${code}`])
    expect(await deliveriesOf(subject)).toEqual([])
  },
})

const right = signatureOf(BODY)

/** Valid, invalid and missing signatures. */
export const SIGNATURES: readonly ContractCase[] = [
  refusal('a missing signature', undefined, 'signature_missing'),
  refusal('an empty signature', '', 'signature_missing'),
  refusal('a malformed signature', 'sha256=oops', 'signature_malformed'),
  refusal('a repeated signature header (if the host passes on both)', [right, right], 'signature_malformed'),
  refusal('two signatures in one header', `${right}, ${right}`, 'signature_malformed'),
  refusal(
    'a signature that is not ASCII',
    Buffer.from('\u00e9'.repeat(32)).toString('latin1'),
    'signature_malformed',
  ),
  refusal('a wrong signature', '0'.repeat(64), 'signature_mismatch'),
  refusal('a request without a key', right, 'key_unknown', 'noKey'),
  refusal('a key of zero bytes', signatureOf(BODY, ''), 'key_unknown', 'zeroKey'),
  refusal('more than 100 keys for a request', right, 'key_unknown', 'manyKeys'),
  {
    name: 'reads header names in any case',
    async run(start) {
      const subject = await start('otherHeader')
      const headers = { 'CONTENT-TYPE': JSON_TYPE, 'x-ESRIHOOK-signature': right }
      expect((await send(subject.url, { headers, body: BODY })).status).toBe(200)
    },
  },
  {
    name: 'accepts base64 with a prefix, percent-encoded or not',
    async run(start) {
      const subject = await start('plain')
      const base64 = createHmac('sha256', 'parcels2026').update(BODY).digest('base64')
      for (const signature of [base64, `sha256=${base64}`, encodeURIComponent(`sha256=${base64}`)]) {
        expect((await send(subject.url, signed(BODY, { 'x-service': signature }))).status).toBe(200)
      }
    },
  },
  {
    name: 'passes the method, URL and headers to the signatureKey function',
    async run(start) {
      const subject = await start('tenants')
      const request = signed(BODY, { 'x-service': signatureOf(BODY, 'key-b'), 'x-tenant': 'b' })
      expect((await send(`${subject.url}?tenant=b`, request)).status).toBe(200)
      expect((await send(subject.url, request)).status).toBe(401)
      expect((await deliveriesOf(subject))[0]?.keyIndex).toBe(1)
    },
  },
  {
    name: "accepts unsigned deliveries with unsigned: 'accept'",
    async run(start) {
      const subject = await start('unsigned')
      const headers = { 'content-type': JSON_TYPE }
      expect((await send(subject.url, { headers, body: BODY })).status).toBe(200)
      expect((await deliveriesOf(subject))[0]?.keyIndex).toBeNull()
    },
  },
]
