import { concat } from '../../shared/bytes.ts'

/**
 * Pipes the body through a stream. Returns undefined if the stream rejects the body or the result is too large, or if
 * the platform lacks the stream.
 */
export async function pipe(
  body: Uint8Array,
  createStream: () => CompressionStream | DecompressionStream,
  limit: number,
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
      if (length <= limit) continue
      await reader.cancel()
      return undefined
    }
  } catch {
    return undefined
  }
}
