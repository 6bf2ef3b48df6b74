import { randomFillSync } from 'node:crypto'

/** Made at once. */
const COUNT = 128
/** Of a UUID as bytes and as text. */
const BYTES = 16
const LENGTH = 36
/** Where in the text the two digits of each byte stand, with hyphens between some of them. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
/** The two digits of each byte, as characters. */
const DIGITS = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, '0')).readUInt16BE(),
)

/**
 * Makes random ids (RFC 9562, section 5.4), many at a time. `randomUUID` puts each together from dozens of pieces, and
 * the garbage collector meets them all as long as the id is in the record.
 */
export function createIds(): () => string {
  const bytes = Buffer.alloc(COUNT * BYTES)
  const text = Buffer.alloc(COUNT * LENGTH, '-')
  const view = new DataView(text.buffer, text.byteOffset)
  let ids = ''
  let next = 0

  function fill(): void {
    randomFillSync(bytes)
    for (let id = 0; id < COUNT; id++) {
      const start = id * BYTES
      // Its version and its variant.
      bytes[start + 6] = ((bytes[start + 6] as number) & 0x0f) | 0x40
      bytes[start + 8] = ((bytes[start + 8] as number) & 0x3f) | 0x80
      for (let index = 0; index < BYTES; index++) {
        const digits = DIGITS[bytes[start + index] as number] as number
        view.setUint16(id * LENGTH + (PLACES[index] as number), digits)
      }
    }
    ids = text.toString('latin1')
    next = 0
  }

  return () => {
    if (next === ids.length) fill()
    next += LENGTH
    return ids.slice(next - LENGTH, next)
  }
}
