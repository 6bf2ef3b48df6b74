import { randomFillSync } from 'node:crypto'

/** Made at once. */
const COUNT = 128
/** Of a UUID as bytes and as text. */
const BYTES = 16
const LENGTH = 36
/** Where in the text the two digits of each byte stand, with hyphens between some of them. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
const DIGITS = Buffer.from('0123456789abcdef')

/**
 * Makes random ids (RFC 9562, section 5.4), many at a time. `randomUUID` puts each together from dozens of pieces, and
 * the garbage collector meets them all as long as the id is in the record.
 */
export function createIds(): () => string {
  const bytes = Buffer.alloc(COUNT * BYTES)
  const text = Buffer.alloc(COUNT * LENGTH, '-')
  let ids = ''
  let next = 0

  function fill(): void {
    randomFillSync(bytes)
    for (let index = 0; index < bytes.length; index++) {
      const byte = versioned(bytes[index] as number, index % BYTES)
      const place = Math.floor(index / BYTES) * LENGTH + (PLACES[index % BYTES] as number)
      text[place] = DIGITS[byte >> 4] as number
      text[place + 1] = DIGITS[byte & 15] as number
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

/** A byte of an id, with the bits in it that tell its version and variant. */
function versioned(byte: number, index: number): number {
  if (index === 6) return (byte & 0x0f) | 0x40
  return index === 8 ? (byte & 0x3f) | 0x80 : byte
}
