import { WebhookError } from '../errors.ts'
import { concat } from '../signature/bytes.ts'

/** A body in the making. */
export interface Gatherer {
  /** @throws {WebhookError} `body_too_large` */
  add(chunk: Uint8Array): void
  whole(): Uint8Array
}

/** Bytes that must have arrived before memory is set aside for what was announced: an announcement costs nothing. */
const ENOUGH = 64 * 1024

/**
 * Gathers the chunks of a body. A large one is put together while it arrives, where its length is known: then nothing
 * is left to be copied at its end, and it is not in memory twice.
 *
 * @param limit bytes, at most
 * @param announced its `content-length`; it need not be true
 */
export function createGatherer(limit: number, announced: string | null | undefined): Gatherer {
  const expected = Number(announced)
  const chunks: Uint8Array[] = []
  let room: Uint8Array | undefined
  let length = 0

  return {
    add(chunk) {
      const offset = length
      length += chunk.length
      if (length > limit) throw new WebhookError('body_too_large')
      if (room && length <= room.length) {
        room.set(chunk, offset)
        return
      }
      chunks.push(chunk)
      if (room || length < ENOUGH || !(expected >= length && expected <= limit)) return
      room = new Uint8Array(expected)
      room.set(concat(chunks.splice(0)))
    },
    whole() {
      if (room?.length === length) return room
      return concat(room ? [room.subarray(0, length), ...chunks] : chunks)
    },
  }
}
