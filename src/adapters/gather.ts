import { WebhookError } from '../errors.ts'

/** A body in the making. */
export interface Gatherer {
  /**
   * @returns whether as much is there as was announced
   * @throws {WebhookError} `body_too_large`
   */
  add(chunk: Uint8Array): boolean
  whole(): Uint8Array
}

/** Bytes that must have arrived before memory is set aside for what was announced: an announcement costs nothing. */
const ENOUGH = 64 * 1024

/**
 * Gathers the chunks of a body. A large one is put together while it arrives, where its length is known: then nothing
 * is left to be copied at its end, and it is not in memory twice.
 *
 * @param limit bytes, at most
 * @param announced its `content-length`, or NaN; it need not be true
 */
export function createGatherer(limit: number, announced: number): Gatherer {
  /** What is not in the room. */
  const chunks: Uint8Array[] = []
  let room: Buffer | undefined
  let written = 0
  let length = 0

  return {
    add(chunk) {
      length += chunk.length
      if (length > limit) throw new WebhookError('body_too_large')
      chunks.push(chunk)
      // Not filled with zeros: it is handed out only where all of it was written.
      if (length >= ENOUGH && announced >= length && announced <= limit)
        room ??= Buffer.allocUnsafeSlow(announced)
      if (room && length <= room.length) {
        for (const one of chunks.splice(0)) {
          room.set(one, written)
          written += one.length
        }
      }
      return length === announced
    },
    whole() {
      if (length === room?.length) return room
      return join(room ? [room.subarray(0, written), ...chunks] : chunks, length)
    },
  }
}

/** In memory of its own: what `Buffer.concat` takes, it shares with whatever else the process makes Buffers of. */
function join(pieces: readonly Uint8Array[], length: number): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array
  const body = Buffer.allocUnsafeSlow(length)
  let written = 0
  for (const piece of pieces) {
    body.set(piece, written)
    written += piece.length
  }
  return body
}
