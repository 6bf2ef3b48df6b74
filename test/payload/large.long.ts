import { parsePayload } from 'geohook'
import { describe, expect, it } from 'vitest'

const MIB = 1024 * 1024
const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

/** Returns JSON of the given size in bytes. Its only string value ends with `end`. */
const jsonOf = (bytes: number, end = ''): string =>
  `{"a":"${'x'.repeat(bytes - '{"a":""}'.length - Buffer.byteLength(end))}${end}"}`

function textOf(body: Uint8Array): unknown {
  const parsed = parsePayload({ body, contentType: JSON_TYPE })
  return parsed.ok ? (parsed.payload as { a: unknown }).a : parsed.code
}

describe.each([MIB, 4 * MIB - 1, 4 * MIB, 5 * MIB + 1])('a body of %i bytes', (size) => {
  it.each(['', 'é', '\u0080', '\u00ff', '€', '🗺', '\\ud83d'])('is decoded exactly, ending with %j', (end) => {
    const text = jsonOf(size, end)
    const body = Buffer.from(text)
    expect(body.length).toBe(size)
    expect(textOf(body) === JSON.parse(text).a).toBe(true)
  })

  it('can be a view of a larger buffer', () => {
    const around = Buffer.alloc(size + 20, 'é')
    const body = around.subarray(7, 7 + size)
    body.write(jsonOf(size))
    expect(textOf(body) === 'x'.repeat(size - '{"a":""}'.length)).toBe(true)
    expect(textOf(new Uint8Array(around.buffer, around.byteOffset + 7, size))).toHaveLength(size - 8)
  })

  it('is not affected by later changes of the bytes', () => {
    const body = Buffer.from(jsonOf(size))
    const text = textOf(body)
    body.fill('y')
    expect(text === 'x'.repeat(size - 8)).toBe(true)
  })

  it('may have one byte order mark', () => {
    const body = Buffer.concat([Buffer.from('\ufeff'), Buffer.from(jsonOf(size - 3))])
    expect(textOf(body)).toHaveLength(size - 11)
    expect(textOf(Buffer.concat([Buffer.from('\ufeff'), body]))).toBe('payload_malformed')
  })

  it.each([
    ['first', 6],
    ['middle', size >> 1],
    ['last', size - 3],
  ])('is rejected if its %s text byte is not UTF-8', (_, position) => {
    for (const byte of [0x80, 0xa0, 0xc0, 0xe9, 0xff]) {
      const body = Buffer.from(jsonOf(size))
      body[position] = byte
      expect(textOf(body)).toBe('payload_malformed')
    }
  })

  it('is rejected if it is UTF-16', () => {
    expect(textOf(Buffer.from(jsonOf(size >> 1), 'utf16le'))).toBe('payload_malformed')
  })

  it('may be a form', () => {
    const body = Buffer.from(`payload=${encodeURIComponent(jsonOf(size, 'é'))}`)
    const parsed = parsePayload({ body, contentType: FORM })
    expect(parsed.ok && (parsed.payload as { a: string }).a.endsWith('xé')).toBe(true)
  })
})
