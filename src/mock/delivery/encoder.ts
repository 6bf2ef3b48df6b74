import { utf8 } from '../../signature/bytes.ts'

/** Bytes of a piece of memory, and of the longest text that shares one. */
const PIECE = 16 * 1024
const LONGEST = PIECE / 8

/**
 * Writes texts as UTF-8, many into one piece of memory: an `ArrayBuffer` for each takes several times as long to make,
 * and its end is one more thing to look after.
 */
export function createEncoder(): (text: string) => Uint8Array<ArrayBuffer> {
  let piece = Buffer.alloc(PIECE)
  let end = 0

  return (text) => {
    // A character takes three bytes at most, and one of four counts as two.
    const most = text.length * 3
    if (most > LONGEST) return utf8(text)
    if (end + most > PIECE) {
      piece = Buffer.alloc(PIECE)
      end = 0
    }
    const start = end
    end += piece.write(text, start)
    return new Uint8Array(piece.buffer, start, end - start)
  }
}
