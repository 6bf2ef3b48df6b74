import { gzipSync } from 'node:zlib'
import { type ExplainOptions, explain, sign, WebhookError } from 'geohook'
import { describe, expect, it } from 'vitest'
import { expectNoSecrets, hmac, JSON_BODY, KEY } from './table.ts'

const hex = hmac(KEY, JSON_BODY).toString('hex')
const WRONG = { 'x-service': '0'.repeat(64) }

const causeOf = async (options: Partial<ExplainOptions>): Promise<string> =>
  (await explain({ body: JSON_BODY, headers: WRONG, signatureKey: KEY, ...options })).cause

const codeOf = (options: object): Promise<unknown> =>
  explain({ body: JSON_BODY, headers: WRONG, signatureKey: KEY, ...options }).then(
    ({ cause }) => `no error, but ${cause}`,
    (error: unknown) => (error instanceof WebhookError ? error.code : error),
  )

describe('explain accepts headers as', () => {
  it.each<[string, ExplainOptions['headers']]>([
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

  it.each<[string, ExplainOptions['headers']]>([
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

  it('does not change the body or the key', async () => {
    const body = Buffer.from(JSON_BODY)
    const signatureKey = Buffer.from(KEY)
    await explain({ body, headers: WRONG, signatureKey })
    expect([body.toString(), signatureKey.toString()]).toEqual([JSON_BODY, KEY])
  })
})

/** Regression tests: each of these inputs once made `explain` throw, or use more than linear time or memory. */
describe('explain survives', () => {
  const MIB = 2 ** 20
  const LONG = MIB / 4

  it.each([
    ['letters', 'a'.repeat(65536)],
    ['percent signs', '%25'.repeat(21845)],
    ['commas', ','.repeat(65536)],
    ['white space', ' '.repeat(65536)],
    ['signatures', `${'0'.repeat(64)},`.repeat(1008)],
    ['labels', 'sha256='.repeat(9362)],
    ['quotes', '"'.repeat(65536)],
  ])('a header of 64 KiB of %s', async (_, value) => {
    expect(await causeOf({ headers: { 'x-service': value, 'x-other': value } })).toBe('unexplained')
    expect(await causeOf({ headers: { 'x-other': value } })).toBe('signature_header_missing')
  })

  it('a header with the right signature after a thousand others', async () => {
    const value = `${'0'.repeat(64)}, `.repeat(1000) + hex
    expect(await causeOf({ headers: { 'x-service': value } })).toBe('signature_encoding')
  })

  it.each([
    ['nesting so deep that JSON.stringify overflows the stack', '['.repeat(100_000) + ']'.repeat(100_000)],
    [
      'deep and wide nesting, which indentation would blow up to gigabytes',
      `${'['.repeat(1000)}1${',1'.repeat(150_000)}${']'.repeat(1000)}`,
    ],
    ['a long JSON string', JSON.stringify('a'.repeat(LONG))],
    ['a long array', JSON.stringify(new Array(LONG / 8).fill(1))],
    ['white space in the middle', `a${' '.repeat(LONG)}b`],
    ['line endings', '\r\n'.repeat(LONG / 2)],
    ['ampersands', '&'.repeat(LONG)],
    ['equals signs', '='.repeat(LONG)],
    ['percent signs', '%'.repeat(LONG)],
    ['backslashes in JSON', JSON.stringify({ a: '\\"'.repeat(LONG / 8) })],
    ['a member that cannot be converted to text', '{"a":{"toString":1}}'],
    ['a lone surrogate', '"\\ud800"'],
    ['bytes of every kind', Buffer.from(Array.from({ length: LONG }, (_, i) => (i * i) >> 3))],
  ])(
    'a body with %s',
    async (_, body) => {
      expect(await causeOf({ body })).toBe('unexplained')
    },
    30_000,
  )

  it('a gzip bomb, which it unpacks only up to a limit', async () => {
    // A gzip stream may have several members (RFC 1952 section 2.2). These 64 members decompress to 1 GiB in total.
    // The bound is an eighth of that, because `arrayBuffers` also counts garbage that is not collected yet.
    const bomb = Buffer.concat(new Array(64).fill(gzipSync(Buffer.alloc(16 * MIB))))
    const before = process.memoryUsage().arrayBuffers
    let peak = 0
    let samples = 0
    const timer = setInterval(() => {
      samples++
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before)
    }, 1)
    try {
      expect(await causeOf({ body: bomb })).toBe('unexplained')
    } finally {
      clearInterval(timer)
    }
    expect(samples).toBeGreaterThan(0)
    expect(peak).toBeLessThan(128 * MIB)
  }, 30_000)

  it('a truncated or damaged gzip body', async () => {
    const packed = gzipSync(JSON_BODY)
    for (const body of [
      packed.subarray(0, -5),
      Buffer.concat([packed, Buffer.from('x')]),
      packed.subarray(0, 3),
    ]) {
      expect(await causeOf({ body })).toBe('unexplained')
    }
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
    const diagnosis = await explain(options)
    expect(JSON.stringify(diagnosis)).not.toContain('forged')
    expectNoSecrets(diagnosis, options)
    const body = `payload=${JSON_BODY}&a%0aforged\nforged=${hex}`
    const inField = await explain({ body, headers: {}, signatureKey: KEY })
    expect(JSON.stringify(inField)).not.toMatch(/\\n/)
  })
})
