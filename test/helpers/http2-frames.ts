/** HTTP/2 frames, byte by byte, because an HTTP/2 client would refuse to send an invalid one. */

const DATA = 0
const HEADERS = 1
export const RST_STREAM = 3
export const SETTINGS = 4
export const PING = 6
export const WINDOW_UPDATE = 8
const END_STREAM = 1
const END_HEADERS = 4

/** Returns one frame (RFC 9113 section 4.1). */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array | string): Buffer {
  const bytes = Buffer.from(payload as string)
  const head = Buffer.alloc(9)
  head.writeUIntBE(bytes.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, bytes])
}

/** Returns what a client sends first. */
export const preface = (): Buffer =>
  Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0, '')])

/** Returns the HEADERS frame of a POST request, as literal fields without indexing (RFC 7541 section 6.2.2). */
export function headersFrame(stream: number, headers: Record<string, string>): Buffer {
  const all = { ':method': 'POST', ':scheme': 'http', ':path': '/hook', ':authority': 'a', ...headers }
  const fields = Object.entries(all).flatMap(([name, value]) => [
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ])
  return frame(HEADERS, END_HEADERS, stream, Buffer.concat(fields))
}

export const dataFrame = (stream: number, data: string, isLast = true): Buffer =>
  frame(DATA, isLast ? END_STREAM : 0, stream, data)
