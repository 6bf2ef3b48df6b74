import { Buffer, isAscii } from 'node:buffer'

const strict = new TextDecoder('utf-8', { fatal: true })

/** From 1 MiB on, Node keeps a Latin-1 text beside V8's heap; up to some 3 MiB, many of them take less memory within it. */
const LARGE = 4 * 1024 * 1024

/**
 * Most JSON is ASCII, which is Latin-1 too. So a large text takes a third of the time, and many of them at once take less
 * memory (docs/performance.md).
 */
export const decoder = {
  decode(bytes: Uint8Array): string {
    if (bytes.length < LARGE || !isAscii(bytes)) return strict.decode(bytes)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  },
}
