import { createReceiver, type ErrorCode, type ReceiverOptions } from 'geohook'
import { afterEach, describe, expect, it } from 'vitest'
import { deliver, KEY, payloadOf } from './helpers/deliver.ts'
import { createRecorder } from './helpers/recorder.ts'

const LIMIT = Error.stackTraceLimit

const oops = (): never => {
  throw new Error('oops')
}

/** The error that the observer is told. */
async function errorOf(headers: Record<string, string>, body: string, options: Partial<ReceiverOptions>) {
  const { observer, calls } = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer, ...options }).on('Bad', oops)
  await deliver(receiver, body, headers)
  return calls.at(-1)?.error
}

describe('a request that proves nothing', () => {
  afterEach(() => {
    Error.stackTraceLimit = LIMIT
  })

  it.each<[ErrorCode, Record<string, string>, Partial<ReceiverOptions>?]>([
    ['signature_missing', { 'x-service': '' }],
    ['signature_malformed', { 'x-service': 'zz' }],
    ['signature_mismatch', { 'x-service': '0'.repeat(64) }],
    ['key_unknown', {}, { signatureKey: () => undefined }],
    ['key_unknown', {}, { signatureKey: () => ' ' }],
    ['body_too_large', { 'content-length': '2000000' }],
    ['content_encoding_unsupported', { 'content-encoding': 'gzip' }],
  ])('is refused with an error that has no stack: %s', async (code, headers, options = {}) => {
    Error.stackTraceLimit = 7
    const error = await errorOf(headers, '{}', options)
    expect(error?.code).toBe(code)
    expect(error?.stack).toBe(`WebhookError: ${error?.message}`)
    expect(Error.stackTraceLimit).toBe(7)
  })

  it('so it is for a method', async () => {
    const { observer, calls } = createRecorder()
    await createReceiver({ signatureKey: KEY, observer }).fetch(new Request('http://receiver.example/'))
    expect(calls[0]?.error?.stack).toBe('WebhookError: Method not allowed')
  })
})

describe('a stack is left to', () => {
  it.each<[ErrorCode, string, Partial<ReceiverOptions>]>([
    ['payload_malformed', '{', {}],
    ['delivery_stale', payloadOf('A'), { maxAge: 1 }],
    ['handler_failed', payloadOf('Bad'), {}],
  ])('what is signed, and what the program did: %s', async (code, body, options) => {
    const error = await errorOf({}, body, options)
    expect(error?.code).toBe(code)
    expect(error?.stack).toMatch(/\n +at /)
  })

  it('what is thrown to the program itself', async () => {
    expect(() => createReceiver({ signatureKey: '' })).toThrow(
      expect.objectContaining({ stack: expect.stringContaining('stackless error.test.ts') }),
    )
    const stored = {
      id: '1',
      rawBody: Buffer.from('{'),
      headers: {},
      receivedAt: new Date(),
      profile: 'service',
    }
    const handling = createReceiver({ signatureKey: KEY })
      .on('*', oops)
      .handle({ ...stored, contentType: '' })
    await expect(handling).rejects.toMatchObject({
      code: 'content_type_unsupported',
      stack: expect.stringContaining('stackless error.test.ts'),
    })
  })
})
