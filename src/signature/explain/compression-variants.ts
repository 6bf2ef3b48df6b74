import { concat } from '../bytes.ts'
import type { Variant } from './recompute.ts'

/** The body unpacked, and packed as the usual writers do. */
export async function compressionVariants(body: Uint8Array): Promise<Variant[]> {
  const variants: Variant[] = []
  for (const format of ['gzip', 'deflate', 'deflate-raw'] as const) {
    const unpacked = await pipe(body, () => new DecompressionStream(format))
    if (unpacked) variants.push([unpacked, `the unpacked body (${format})`])
    const packed = await pipe(body, () => new CompressionStream(format))
    if (!packed) continue
    variants.push([packed, `the packed body (${format})`])
    if (format === 'gzip') variants.push(...otherHeaders(packed))
  }
  return variants
}

/** The header of gzip names the packer's effort (byte 8) and its system (byte 9), RFC 1952 section 2.3. */
const EFFORT_AND_SYSTEM = [
  [0, 0],
  [0, 3],
  [0, 10],
  [0, 19],
  [0, 255],
  [2, 3],
  [2, 255],
] as const

const otherHeaders = (gzip: Uint8Array): Variant[] =>
  EFFORT_AND_SYSTEM.map((bytes) => {
    const other = gzip.slice()
    other.set(bytes, 8)
    return [other, 'the packed body (gzip)']
  })

/** More than this is never unpacked: a small body may hold gigabytes. */
const MAX_UNPACKED = 16 * 1024 * 1024

/** Undefined for what is not of the format, is too large, or where the platform has no such stream. */
async function pipe(
  body: Uint8Array,
  through: () => CompressionStream | DecompressionStream,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    const source = new Blob([body as Uint8Array<ArrayBuffer>]).stream()
    const reader = source.pipeThrough(through()).getReader()
    for (;;) {
      const { done, value: chunk } = await reader.read()
      if (done) return concat(chunks)
      chunks.push(chunk)
      length += chunk.length
      if (length <= MAX_UNPACKED) continue
      await reader.cancel()
      return undefined
    }
  } catch {
    return undefined
  }
}
