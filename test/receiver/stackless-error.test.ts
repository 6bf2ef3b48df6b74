import { createReceiver, type ErrorCode, type ReceiverOptions } from 'geohook'
import { afterEach, describe, expect, it } from 'vitest'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'
import { createRecorder } from '../helpers/recorder.ts'

const LIMIT = Error.stackTraceLimit
afterEach(() => {
  Error.stackTraceLimit = LIMIT
})

const FRAME = /\n +at /

const oops = (): never => {
  throw new Error('oops')
}

/** Sends a request, and returns the error that the observer receives. */
async function errorOf(headers: Record<string, string>, body: string, options: Partial<ReceiverOptions>) {
  const { observer, calls } = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer, ...options }).on('Bad', oops)
  await deliver(receiver, body, headers)
  return calls.at(-1)?.error
}

it.each<[ErrorCode, Record<string, string>, Partial<ReceiverOptions>?]>([
  ['signature_missing', { 'x-service': '' }],
  ['signature_malformed', { 'x-service': 'zz' }],
  ['signature_mismatch', { 'x-service': '0'.repeat(64) }],
  ['key_unknown', {}, { signatureKey: () => undefined }],
  ['key_unknown', {}, { signatureKey: () => ' ' }],
  ['body_too_large', { 'content-length': '2000000' }],
  ['content_encoding_unsupported', { 'content-encoding': 'gzip' }],
])('captures no stack trace before the signature is verified: %s', async (code, headers, options = {}) => {
  Error.stackTraceLimit = 7
  const error = await errorOf(headers, '{}', options)
  expect(error?.code).toBe(code)
  expect(error?.stack).not.toMatch(FRAME)
  expect(Error.stackTraceLimit).toBe(7)
})

describe('captures a stack trace of', () => {
  it.each<[ErrorCode, string, Partial<ReceiverOptions>]>([
    ['payload_malformed', '{', {}],
    ['delivery_stale', payloadOf('A'), { maxAge: 1 }],
    ['handler_failed', payloadOf('Bad'), {}],
  ])('errors after the verification: %s', async (code, body, options) => {
    const error = await errorOf({}, body, options)
    expect(error?.code).toBe(code)
    expect(error?.stack).toMatch(FRAME)
  })

  it('errors that are thrown to the program', async () => {
    const stack = expect.stringContaining('stackless-error.test.ts')
    expect(() => createReceiver({ signatureKey: '' })).toThrow(expect.objectContaining({ stack }))
    const receiver = createReceiver({ signatureKey: KEY }).on('*', oops)
    const stored = { id: '1', rawBody: Buffer.from('{'), headers: {}, receivedAt: new Date() }
    await expect(receiver.handle({ ...stored, profile: 'service', contentType: '' })).rejects.toMatchObject({
      code: 'content_type_unsupported',
      stack,
    })
  })
})
