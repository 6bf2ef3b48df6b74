import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = 8
const BYTES_PER_PIXEL = 3

/**
 * Compresses a screenshot again, without the filters of the browser: text on a plain background compresses better
 * without them.
 *
 * @param png with 8 bits for each of red, green and blue
 */
export function shrinkPng(png: Buffer): Buffer {
  const header = png.subarray(SIGNATURE + 8, SIGNATURE + 21)
  const parts: Buffer[] = []
  for (let start = SIGNATURE; start < png.length; ) {
    const length = png.readUInt32BE(start)
    if (png.toString('latin1', start + 4, start + 8) === 'IDAT')
      parts.push(png.subarray(start + 8, start + 8 + length))
    start += length + 12
  }
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const rows = removeFilters(inflateSync(Buffer.concat(parts)), width * BYTES_PER_PIXEL, height)
  return Buffer.concat([
    png.subarray(0, SIGNATURE),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(content))
  return Buffer.concat([length, content, sum])
}

/** Each row begins with the number of its filter (PNG, section 9.2). */
function removeFilters(filtered: Buffer, width: number, height: number): Buffer {
  const rows = Buffer.alloc(filtered.length)
  const at = (y: number, x: number): number =>
    y < 0 || x < 0 ? 0 : (rows[y * (width + 1) + 1 + x] as number)
  for (let y = 0; y < height; y++) {
    const start = y * (width + 1)
    for (let x = 0; x < width; x++) {
      const [a, b, c] = [at(y, x - BYTES_PER_PIXEL), at(y - 1, x), at(y - 1, x - BYTES_PER_PIXEL)]
      const predicted = [0, a, b, (a + b) >> 1, paeth(a, b, c)][filtered[start] as number] as number
      rows[start + 1 + x] = (filtered[start + 1 + x] as number) + predicted
    }
  }
  return rows
}

function paeth(a: number, b: number, c: number): number {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)]
  if (pa <= pb && pa <= pc) return a
  return pb <= pc ? b : c
}
