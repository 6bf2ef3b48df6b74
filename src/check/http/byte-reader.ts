import type { Socket } from 'node:net'

/** Why a read ended without the wanted bytes. */
export type ReadEnd = 'timeout' | 'closed'

/** Reads from a socket as its bytes arrive. */
export interface ByteReader {
  /** Reads up to and including the delimiter, at most 64 KiB. */
  readLine(deadline: number): Promise<string>
  /** Reads exactly so many bytes, and keeps the first `kept` ones. */
  readBytes(count: number, kept: number, deadline: number): Promise<Buffer>
  /** Reads until the peer ends the connection, and keeps the first `kept` bytes. */
  readToEnd(kept: number, deadline: number): Promise<Buffer>
}

/** Thrown by the functions of a {@link ByteReader}. */
export class ReadError extends Error {
  readonly end: ReadEnd | 'malformed'

  constructor(end: ReadEnd | 'malformed') {
    super(end)
    this.end = end
  }
}

const MAX_LINE = 65_536
/** A receiver that sends more than this at once has to wait until it is read. */
const MAX_PENDING = 1_048_576

export function createByteReader(socket: Socket): ByteReader {
  let pending: Buffer = Buffer.alloc(0)
  let isClosed = false
  let wake = (): void => {}

  const close = (): void => {
    isClosed = true
    wake()
  }
  socket.on('data', (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    if (pending.length > MAX_PENDING) socket.pause()
    wake()
  })
  socket.once('end', close).once('close', close).once('error', close)

  /** @throws {ReadError} */
  async function waitForMore(deadline: number): Promise<void> {
    if (isClosed) throw new ReadError('closed')
    const left = deadline - performance.now()
    if (left <= 0) throw new ReadError('timeout')
    socket.resume()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, left)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    wake = () => {}
  }

  function take(count: number): Buffer {
    const taken = pending.subarray(0, count)
    pending = pending.subarray(count)
    return taken
  }

  async function readLine(deadline: number): Promise<string> {
    for (let from = 0; ; ) {
      const end = pending.indexOf('\n', from)
      if ((end < 0 ? pending.length : end) > MAX_LINE) throw new ReadError('malformed')
      if (end >= 0)
        return take(end + 1)
          .toString('latin1')
          .replace(/\r?\n$/, '')
      from = pending.length
      await waitForMore(deadline)
    }
  }

  /** Reads chunks until `count` bytes are read. */
  async function readBytes(count: number, kept: number, deadline: number): Promise<Buffer> {
    const chunks: Buffer[] = []
    let length = 0
    for (let left = count; left > 0; ) {
      if (pending.length === 0) await waitForMore(deadline)
      const chunk = take(left)
      left -= chunk.length
      if (length < kept) chunks.push(chunk)
      length += chunk.length
    }
    return Buffer.concat(chunks).subarray(0, kept)
  }

  async function readToEnd(kept: number, deadline: number): Promise<Buffer> {
    const chunks: Buffer[] = []
    let length = 0
    for (;;) {
      const chunk = take(pending.length)
      if (length < kept) chunks.push(chunk)
      length += chunk.length
      if (isClosed && pending.length === 0) return Buffer.concat(chunks).subarray(0, kept)
      if (pending.length === 0) await waitForMore(deadline).catch((error) => requireEnd(error))
    }
  }

  return { readLine, readBytes, readToEnd }
}

function requireEnd(error: unknown): void {
  if (!(error instanceof ReadError && error.end === 'closed')) throw error
}
