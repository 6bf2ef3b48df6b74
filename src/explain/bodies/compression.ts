import { concat } from '../../shared/bytes.ts'
import type { Variant } from '../types.ts'
import { pipe } from './streams.ts'

/** The part of node:zlib that is used here. It is loaded only where it exists, and so is not imported. */
interface Zlib {
  constants: Readonly<Record<string, number>>
  gzipSync(data: Uint8Array, options?: Options): Uint8Array
  brotliCompressSync?(data: Uint8Array, options?: Options): Uint8Array
  zstdCompressSync?(data: Uint8Array): Uint8Array
  [decompress: string]: unknown
}
type Options = { level?: number; params?: Record<string, number>; maxOutputLength?: number }
type Decompress = (data: Uint8Array, options: Options) => Uint8Array

type Process = { getBuiltinModule?: (name: 'node:zlib') => Zlib | undefined }
const zlib = (globalThis as { process?: Process }).process?.getBuiltinModule?.('node:zlib')

/** Formats, with the names of the functions of node:zlib and of the web streams that decompress them. */
const FORMATS: readonly [format: string, node: string, web?: CompressionFormat][] = [
  ['gzip', 'gunzipSync', 'gzip'],
  ['deflate', 'inflateSync', 'deflate'],
  ['deflate without a header', 'inflateRawSync', 'deflate-raw'],
  ['brotli', 'brotliDecompressSync'],
  ['zstd', 'zstdDecompressSync'],
]

/** Returns the maximum decompressed size. It is limited because a small body may decompress to gigabytes. */
const maxDecompressed = (size: number): number => Math.min(Math.max(MIB, 16 * size), 16 * MIB)
const MIB = 1024 * 1024

/** Bodies up to this size are compressed at all levels. Larger ones would take too long. */
const MAX_ALL_LEVELS = 4 * 1024

/** Resolves to the decompressed body, and the body compressed the way common tools do it. */
export async function compressionVariants(body: Uint8Array): Promise<Iterable<Variant>> {
  return zlib ? nodeVariants(zlib, body) : streamVariants(body)
}

function* nodeVariants(zlib: Zlib, body: Uint8Array): Generator<Variant> {
  const maxOutputLength = maxDecompressed(body.length)
  for (const [format, name] of FORMATS) {
    const decompress = zlib[name] as Decompress | undefined
    const decompressed = attempt(() => decompress?.(body, { maxOutputLength }))
    if (decompressed) yield [decompressed, `the decompressed body (${format})`]
  }
  const isSmall = body.length <= MAX_ALL_LEVELS
  for (const level of isSmall ? [-1, 9, 1, 2, 3, 4, 5, 7, 8] : [-1])
    yield* deflated(zlib.gzipSync(body, { level }), body)
  for (const params of brotliParameters(zlib, body.length, isSmall)) {
    const compressed = attempt(() => zlib.brotliCompressSync?.(body, { params }))
    if (compressed) yield [compressed, 'the compressed body (brotli)']
  }
  const zstd = attempt(() => zlib.zstdCompressSync?.(body))
  if (zstd) yield [zstd, 'the compressed body (zstd)']
}

function attempt(compute: () => Uint8Array | undefined): Uint8Array | undefined {
  try {
    return compute()
  } catch {
    return undefined // invalid in this format, or too large
  }
}

/** The defaults of middleware for Express, of nginx, of Node and of the program brotli. */
function brotliParameters({ constants }: Zlib, size: number, isSmall: boolean): Record<string, number>[] {
  const { BROTLI_PARAM_QUALITY = 1, BROTLI_PARAM_LGWIN = 2, BROTLI_PARAM_SIZE_HINT = 5 } = constants
  let window = 10
  while (2 ** window - 16 < size) window++ // as the program does
  const program = { [BROTLI_PARAM_QUALITY]: 11, [BROTLI_PARAM_LGWIN]: window, [BROTLI_PARAM_SIZE_HINT]: size }
  return [
    { [BROTLI_PARAM_QUALITY]: 4 },
    ...(isSmall ? [{ [BROTLI_PARAM_QUALITY]: 6 }, { [BROTLI_PARAM_QUALITY]: 5 }, {}, program] : []),
  ]
}

async function streamVariants(body: Uint8Array): Promise<Variant[]> {
  const variants: Variant[] = []
  for (const [format, , web] of FORMATS) {
    if (!web) continue
    const decompressed = await pipe(body, () => new DecompressionStream(web), maxDecompressed(body.length))
    if (decompressed) variants.push([decompressed, `the decompressed body (${format})`])
  }
  const gzip = await pipe(body, () => new CompressionStream('gzip'), 2 * body.length + MIB)
  if (gzip) variants.push(...deflated(gzip, body))
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
  [4, 3],
  [4, 255],
] as const

/** The second byte of a zlib header, which depends on the level (RFC 1950). */
const ZLIB_LEVELS = [0x9c, 0xda, 0x5e, 0x01]

/** Yields the same compressed data in all formats that contain it. */
function* deflated(gzip: Uint8Array, body: Uint8Array): Generator<Variant> {
  for (const bytes of LEVEL_AND_SYSTEM) {
    const copy = gzip.slice()
    copy.set(bytes, 8)
    yield [copy, 'the compressed body (gzip)']
  }
  const raw = gzip.subarray(10, -8)
  const sum = adler32(body)
  for (const level of ZLIB_LEVELS)
    yield [concat([Uint8Array.of(0x78, level), raw, sum]), 'the compressed body (deflate)']
  yield [raw, 'the compressed body (deflate without a header)']
}

/** The checksum of zlib (RFC 1950 section 8.2). */
function adler32(bytes: Uint8Array): Uint8Array {
  let a = 1
  let b = 0
  for (const byte of bytes) {
    a = (a + byte) % 65521
    b = (b + a) % 65521
  }
  return Uint8Array.of(b >> 8, b, a >> 8, a)
}
