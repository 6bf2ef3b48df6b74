import type { Hypothesis } from './types.ts'

type Options = { level?: number; params?: Record<string, number>; maxOutputLength?: number }

/** The part of node:zlib that is used here. It is loaded only where it exists, and so is not imported. */
type Zlib = Record<string, ((data: Uint8Array, options?: Options) => Uint8Array) | undefined> & {
  constants: Readonly<Record<string, number>>
}

type Process = { getBuiltinModule?: (name: 'node:zlib') => unknown }
const zlib = (globalThis as { process?: Process }).process?.getBuiltinModule?.('node:zlib') as
  | Zlib
  | undefined

const DECOMPRESS = [
  'gunzipSync',
  'inflateSync',
  'inflateRawSync',
  'brotliDecompressSync',
  'zstdDecompressSync',
]
const COMPRESS = ['gzipSync', 'deflateSync', 'deflateRawSync']

const MIB = 1024 * 1024

/** Returns the maximum decompressed size. It is limited because a small body may decompress to gigabytes. */
const maxDecompressed = (size: number): number => Math.min(Math.max(MIB, 16 * size), 16 * MIB)

/** Bodies up to this size are compressed at all levels. Larger ones would take too long. */
const MAX_ALL_LEVELS = 4 * 1024

/** Bytes 8 and 9 of a gzip header: compression level and operating system (RFC 1952 section 2.3). */
const LEVEL_AND_SYSTEM = ['0 0', '0 3', '0 10', '0 19', '0 255', '2 3', '2 255', '4 3', '4 255'].map((pair) =>
  pair.split(' ').map(Number),
)

/** Yields the decompressed body, and the body compressed the way common tools do it. Yields nothing outside of Node. */
export function* compressedBodies(body: Uint8Array): Generator<Hypothesis> {
  for (const name of DECOMPRESS) {
    const decompressed = attempt(name, body, { maxOutputLength: maxDecompressed(body.length) })
    if (decompressed) yield ['body_decompressed', decompressed, 'the decompressed body']
  }
  const isSmall = body.length <= MAX_ALL_LEVELS
  for (const name of COMPRESS) {
    for (const level of isSmall ? [-1, 9, 1, 2, 3, 4, 5, 7, 8] : [-1]) {
      const compressed = attempt(name, body, { level })
      if (!compressed) continue
      yield ['body_decompressed', compressed, 'the compressed body']
      for (const bytes of name === 'gzipSync' ? LEVEL_AND_SYSTEM : []) {
        const copy = compressed.slice()
        copy.set(bytes, 8)
        yield ['body_decompressed', copy, 'the compressed body']
      }
    }
  }
  // The defaults of middleware for Express, of nginx and of Node.
  const quality = zlib?.constants.BROTLI_PARAM_QUALITY ?? 1
  for (const params of isSmall ? [{ [quality]: 4 }, { [quality]: 6 }, {}] : [{ [quality]: 4 }]) {
    const compressed = attempt('brotliCompressSync', body, { params })
    if (compressed) yield ['body_decompressed', compressed, 'the compressed body']
  }
  const zstd = attempt('zstdCompressSync', body)
  if (zstd) yield ['body_decompressed', zstd, 'the compressed body']
}

function attempt(name: string, body: Uint8Array, options?: Options): Uint8Array | undefined {
  try {
    return zlib?.[name]?.(body, options)
  } catch {
    return undefined // invalid in this format, or too large
  }
}
