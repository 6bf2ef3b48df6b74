import { arcgis, createReceiver, type ReceiverOptions } from 'geohook'
import { describe, expect, it, vi } from 'vitest'
import { receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { diagnosisOf, type Question } from './question.ts'
import { hmac, KEY } from './table.ts'

const BODY = '{"events":[]}'
const JSON_TYPE = { host: 'gis.example', 'content-type': 'application/json' }
const signature = (key: string, encoding: 'hex' | 'base64' = 'hex'): string =>
  hmac(key, BODY).toString(encoding)

type Request = Pick<Question, 'method' | 'url' | 'headers' | 'body'>
type Row = [name: string, cause: string, code: string | undefined, options: object, request?: Request]

const noKey = () => null
const fails = () => {
  throw new Error('away')
}
const signed = (key: string): Request => ({ headers: { ...JSON_TYPE, 'x-service': signature(key) } })

/** The code with which a receiver refuses the request, or undefined if it accepts it. */
async function refusalOf(options: object, { method = 'POST', url = '/', headers, body = BODY }: Request) {
  const { observer } = createRecorder()
  const receiver = createReceiver({ observer, ...options } as ReceiverOptions).on('*', () => {})
  const { error } = await receiverPort(receiver).receive({
    method,
    url,
    headers: headers as Record<string, string>,
    read: () => new TextEncoder().encode(body as string),
  })
  return error?.code
}

describe('explain agrees with a receiver that has the same options', () => {
  const unsigned = 'accept'
  it.each<Row>([
    ['an unsigned request, in base64', 'ok', undefined, { unsigned, signatureKey: KEY, encoding: 'base64' }],
    ['an unsigned request without a key, in base64', 'ok', undefined, { unsigned, encoding: 'base64' }],
    ['an unsigned request, a function without a key', 'ok', undefined, { unsigned, signatureKey: noKey }],
    [
      'an unsigned request, a function that fails',
      'key_unavailable',
      'key_unavailable',
      { unsigned, signatureKey: fails },
    ],
    [
      'an unsigned request, an invalid tenant',
      'key_invalid',
      'key_unknown',
      { unsigned, signatureKey: () => ({ keys: KEY, tenant: '' }) },
    ],
    [
      'an unsigned request, an unknown tenant',
      'ok',
      undefined,
      { unsigned, signatureKey: () => ({ keys: null, tenant: 'a' }) },
    ],
    ['an unsigned request, an untrimmed key', 'ok', undefined, { unsigned, signatureKey: () => ` ${KEY}` }],
    ['a signed request without a key', 'key_unset', 'key_unknown', { unsigned }, signed('explain')],
    ['a function without a key', 'key_unknown', 'key_unknown', { signatureKey: noKey }, signed('explain')],
    [
      'a missing signature, a function without a key',
      'signature_header_missing',
      'signature_missing',
      { signatureKey: noKey },
    ],
    [
      'a malformed signature, a function that fails',
      'unexplained',
      'signature_malformed',
      { signatureKey: fails },
      { headers: { ...JSON_TYPE, 'x-service': 'secret' } },
    ],
    [
      'a handshake without a key',
      'key_unset',
      'key_unknown',
      { unsigned, profile: arcgis },
      { method: 'GET', url: '/?crc_token=abc', headers: { host: 'gis.example' }, body: '' },
    ],
    [
      'a key function that reads the header secret',
      'signature_mismatch',
      'signature_mismatch',
      { signatureKey: ({ headers }: { headers: Record<string, string> }) => headers.secret },
      { headers: { ...JSON_TYPE, secret: KEY, 'x-service': signature(KEY) } },
    ],
  ])('%s: %s', async (_, cause, code, options, request = {}) => {
    const sent = { headers: JSON_TYPE, body: BODY, ...request }
    expect(await refusalOf(options, sent)).toBe(code)
    const found = await diagnosisOf({ ...options, ...sent } as Question)
    if (cause === 'signature_mismatch') expect(found.cause).not.toBe('ok')
    else expect(found.cause).toBe(cause)
  })

  it('a key with white space around it, with which no receiver can be created', async () => {
    const signatureKey = ` ${KEY}`
    expect(() => createReceiver({ signatureKey })).toThrow('white space')
    const found = await diagnosisOf({ signatureKey, body: BODY, ...signed(signatureKey) } as Question)
    expect(found).toMatchObject({ ok: false, cause: 'key_invalid' })
    expect(found.evidence).not.toContain(KEY)
  })

  it('calls a key function only if the receiver does', async () => {
    const signatureKey = vi.fn(() => new Promise<string>(() => {}))
    const found = await diagnosisOf({ signatureKey, method: 'PUT', headers: JSON_TYPE, body: BODY })
    expect([found.cause, signatureKey.mock.calls]).toEqual(['method_not_allowed', []])
  })
})
