import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { diagnosisOf, type Question } from './question.ts'
import { hmac, JSON_BODY, KEY } from './table.ts'

const hex = hmac(KEY, JSON_BODY).toString('hex')

const causeOf = async (options: Partial<Question>): Promise<string> =>
  (
    await diagnosisOf({
      body: JSON_BODY,
      headers: { 'x-service': '0'.repeat(64) },
      signatureKey: KEY,
      ...options,
    })
  ).cause

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
