import { concat } from '../bytes.ts'
import type { Variant } from './explain-types.ts'

/** Returns the decompressed body, and the body compressed the way common tools do it. */
export async function compressionVariants(body: Uint8Array): Promise<Variant[]> {
  const variants: Variant[] = []
  for (const format of ['gzip', 'deflate', 'deflate-raw'] as const) {
    const decompressed = await pipe(body, () => new DecompressionStream(format))
    if (decompressed) variants.push([decompressed, `the decompressed body (${format})`])
    const compressed = await pipe(body, () => new CompressionStream(format))
    if (!compressed) continue
    variants.push([compressed, `the compressed body (${format})`])
    if (format === 'gzip') variants.push(...withOtherHeaders(compressed))
  }
  return variants
}

/** Bytes 8 and 9 of a gzip header: compression level and operating system (RFC 1952 section 2.3). */
const LEVEL_AND_SYSTEM = [
  [0, 0],
  [0, 3],
  [0, 10],
  [0, 19],
  [0, 255],
  [2, 3],
  [2, 255],
] as const

const withOtherHeaders = (gzip: Uint8Array): Variant[] =>
  LEVEL_AND_SYSTEM.map((bytes) => {
    const copy = gzip.slice()
    copy.set(bytes, 8)
    return [copy, 'the compressed body (gzip)']
  })

/** Maximum decompressed size in bytes. It is limited because a small body may decompress to gigabytes. */
const MAX_DECOMPRESSED = 16 * 1024 * 1024

/**
 * Pipes the body through a stream. Returns undefined if the stream rejects the body or the result is too large, or if
 * the platform lacks the stream.
 */
async function pipe(
  body: Uint8Array,
  createStream: () => CompressionStream | DecompressionStream,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    const source = new Blob([body as Uint8Array<ArrayBuffer>]).stream()
    const reader = source.pipeThrough(createStream()).getReader()
    for (;;) {
      const { done, value: chunk } = await reader.read()
      if (done) return concat(chunks)
      chunks.push(chunk)
      length += chunk.length
      if (length <= MAX_DECOMPRESSED) continue
      await reader.cancel()
      return undefined
    }
  } catch {
    return undefined
  }
}
