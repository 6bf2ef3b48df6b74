import { explain, sign, WebhookError } from 'geohook'
import { describe, expect, it } from 'vitest'
import { diagnosisOf, type Question } from './question.ts'
import { expectNoSecrets, hmac, JSON_BODY, KEY } from './table.ts'

const hex = hmac(KEY, JSON_BODY).toString('hex')
const WRONG = { 'x-service': '0'.repeat(64) }

const causeOf = async (options: Partial<Question>): Promise<string> =>
  (await diagnosisOf({ body: JSON_BODY, headers: WRONG, signatureKey: KEY, ...options })).cause

const codeOf = (options: object): Promise<unknown> =>
  diagnosisOf({ body: JSON_BODY, headers: WRONG, signatureKey: KEY, ...options }).then(
    ({ cause }) => `no error, but ${cause}`,
    (error: unknown) => (error instanceof WebhookError ? error.code : error),
  )

describe('explain accepts headers as', () => {
  it.each<[string, Question['headers']]>([
    ['Headers', new Headers({ 'X-Service': hex })],
    ['a Map', new Map([['X-SERVICE', hex]])],
    ['pairs', [['X-Service', hex]]],
    ['a record in odd case', { 'x-SERVICE': hex }],
    ['a record with a list', { 'x-service': [hex], 'set-cookie': ['a', 'b'] }],
    ['a record without a prototype', Object.assign(Object.create(null), { 'x-service': hex })],
    ['a record with an undefined value', { 'X-Service': undefined, 'x-service': hex }],
    ['a record with names of object members', { constructor: 'a', __proto__: null, 'x-service': hex }],
  ])('%s', async (_, headers) => {
    expect(await causeOf({ headers })).toBe('ok')
    expect(await causeOf({ headers, signatureHeader: 'X-Service' })).toBe('ok')
    expect(await causeOf({ headers, body: `${JSON_BODY}\n` })).toBe('body_trailing_newline')
  })

  it('an iterator that can be read only once', async () => {
    const headers = new Headers({ 'x-service': hex, 'x-other': 'a' }).entries()
    expect(await causeOf({ headers })).toBe('ok')
  })

  it.each<[string, Question['headers']]>([
    ['an empty record', {}],
    ['an empty Headers', new Headers()],
    ['an empty list of values', { 'x-service': [] }],
  ])('%s, without a signature', async (_, headers) => {
    expect(await causeOf({ headers })).toBe('signature_header_missing')
  })
})

describe('explain', () => {
  it('accepts bodies as text, Buffer, ArrayBuffer and a view of a larger buffer', async () => {
    const bytes = Buffer.from(JSON_BODY)
    const larger = Uint8Array.from(Buffer.concat([Buffer.from('xx'), bytes, Buffer.from('yy')]))
    const inside = larger.subarray(2, 2 + bytes.length)
    for (const body of [JSON_BODY, bytes, Uint8Array.from(bytes).buffer, inside]) {
      expect(await causeOf({ body, headers: { 'x-service': hex } })).toBe('ok')
      expect(await causeOf({ body, headers: { 'x-service': hex }, signatureKey: `${KEY}\n` })).toBe(
        'key_whitespace',
      )
    }
  })

  it('agrees with sign', async () => {
    const signature = await sign({
      body: JSON_BODY,
      signatureKey: KEY,
      encoding: 'base64',
      prefix: 'sha256=',
    })
    expect(await causeOf({ headers: { 'x-service': signature } })).toBe('ok')
  })

  it('throws for arguments of a wrong type', async () => {
    expect(await codeOf({ body: { events: [] } })).toBe('body_already_parsed')
    expect(await codeOf({ body: undefined })).toBe('body_already_parsed')
    expect(await codeOf({ signatureKey: 7 })).toBe('config_invalid')
    expect(await codeOf({ signatureKey: [KEY, 7] })).toBe('config_invalid')
    expect(await codeOf({ signatureHeader: 'x service' })).toBe('config_invalid')
    expect(await codeOf({ limitt: 1 })).toBe('config_invalid')
  })

  it('throws for unknown members of the request and unknown or invalid options', async () => {
    const request = { body: JSON_BODY, headers: WRONG }
    const calls: [Parameters<typeof explain>, string][] = [
      [[{ ...request, signatureKey: KEY } as never], 'unknown request member signatureKey'],
      [[request, { signatureKey: KEY, thorough: true } as never], 'unknown option thorough'],
      [[request, { signatureKey: KEY }, { thorogh: true } as never], 'did you mean thorough?'],
      [[request, { signatureKey: KEY }, { thorough: 'no' } as never], 'thorough must be true or false'],
    ]
    for (const [args, message] of calls)
      await expect(explain(...args)).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining(message),
      })
  })

  it('does not change the body or the key', async () => {
    const body = Buffer.from(JSON_BODY)
    const signatureKey = Buffer.from(KEY)
    await explain({ body, headers: WRONG }, { signatureKey })
    expect([body.toString(), signatureKey.toString()]).toEqual([JSON_BODY, KEY])
  })
})

describe('explain, invalid keys', () => {
  it.each<[unknown, string]>([
    [7, 'signatureKey must be a string or bytes, or a list of them'],
    [{ 0: KEY, length: 1 }, 'signatureKey must be a string or bytes, or a list of them'],
    [[KEY, 7], 'signatureKey must be a string or bytes'],
    [[[KEY]], 'signatureKey must be a string or bytes'],
  ])('rejects %j', async (signatureKey, message) => {
    const options = { body: JSON_BODY, headers: {}, signatureKey: signatureKey as string }
    await expect(diagnosisOf(options)).rejects.toMatchObject({ code: 'config_invalid', message })
  })

  it.each([null, [null], [KEY, null]])('treats %j as a missing key', async (signatureKey) => {
    const options = { body: JSON_BODY, headers: {}, signatureKey: signatureKey as unknown as string }
    expect((await diagnosisOf(options)).cause).toBe('key_empty')
  })
})

describe('explain on a limited platform', () => {
  it('finds other causes without CompressionStream and with a TextDecoder for UTF-8 only', async () => {
    const { CompressionStream, DecompressionStream, TextDecoder } = globalThis
    class OnlyUtf8 extends TextDecoder {
      constructor(label = 'utf-8', options: TextDecoderOptions = {}) {
        if (label !== 'utf-8') throw new RangeError(`${label} is not supported`)
        super(label, options)
      }
    }
    Object.assign(globalThis, {
      CompressionStream: undefined,
      DecompressionStream: undefined,
      TextDecoder: OnlyUtf8,
    })
    try {
      expect(await causeOf({ body: Buffer.from(JSON_BODY, 'latin1'), headers: { 'x-service': hex } })).toBe(
        'body_charset',
      )
      expect(await causeOf({})).toBe('unexplained')
    } finally {
      Object.assign(globalThis, { CompressionStream, DecompressionStream, TextDecoder })
    }
  })
})

describe('evidence', () => {
  it('never repeats values from the request, so that a sender cannot forge log lines', async () => {
    const value = `${hex}\nERROR forged ${KEY}`
    const options = { body: JSON_BODY, headers: { 'x-service': value, 'x-hub': value }, signatureKey: KEY }
    const diagnosis = await diagnosisOf(options)
    expect(JSON.stringify(diagnosis)).not.toContain('forged')
    expectNoSecrets(diagnosis, options)
    const body = `payload=${JSON_BODY}&a%0aforged\nforged=${hex}`
    const inField = await diagnosisOf({ body, headers: {}, signatureKey: KEY })
    expect(JSON.stringify(inField)).not.toMatch(/\\n/)
  })
})
