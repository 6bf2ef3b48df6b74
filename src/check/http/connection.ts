import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Trust } from '../../adapters/tls-trust.ts'
import type { Redactor } from '../../shared/redact.ts'
import { createByteReader } from './byte-reader.ts'
import { readResponse } from './read-response.ts'
import type { Reply } from './reply.ts'

/** Where to connect. */
export interface Target {
  readonly url: URL
  /** Milliseconds to wait for a connection, and for each response. */
  readonly timeout: number
  readonly trust: Trust
  /** Hides the key in what the receiver sends. */
  readonly hide: Redactor['text']
}

/** How to read a response. */
export interface ReadOptions {
  /** The method of the request. Default POST. */
  readonly method?: string | undefined
  /** Milliseconds to wait. Default: the timeout of the target. */
  readonly timeout?: number | undefined
  /** True to return 1xx responses too. Default false. */
  readonly interim?: boolean | undefined
}

/** A connection to the receiver. It sends exactly the given bytes. */
export interface Connection {
  /** Resolves when the bytes are written, or when the receiver has closed the connection. */
  write(bytes: string | Uint8Array): Promise<void>
  /** Ends the sending half of the connection. */
  end(): void
  /** Reads the next response. */
  read(options?: ReadOptions): Promise<Reply>
  /** True if another request can be sent, as far as the last response says. */
  isReusable(): boolean
  /** Closes the connection at once. */
  destroy(): void
}

/** Opens a connection. Rejects with Node's error if the receiver is unreachable or its certificate is not trusted. */
export async function openConnection(target: Target): Promise<Connection> {
  const socket = await openSocket(target)
  const reader = createByteReader(socket)
  let isReusable = true
  let lastWritten = performance.now()

  async function write(bytes: string | Uint8Array): Promise<void> {
    lastWritten = performance.now()
    if (socket.destroyed || !socket.writable) return
    await new Promise<void>((resolve) => {
      socket.once('close', resolve)
      socket.write(bytes, () => {
        socket.off('close', resolve)
        resolve()
      })
    })
    lastWritten = performance.now()
  }

  async function read({
    method = 'POST',
    timeout = target.timeout,
    interim = false,
  }: {
    method?: string
    timeout?: number
    interim?: boolean
  } = {}): Promise<Reply> {
    const deadline = performance.now() + timeout
    for (;;) {
      const result = await readResponse(reader, {
        started: lastWritten,
        deadline,
        hasBody: method !== 'HEAD',
        hide: target.hide,
      })
      isReusable = result.isReusable
      const { status } = result.reply
      if (interim || status === undefined || status >= 200) return result.reply
    }
  }

  return {
    write,
    end: () => void socket.end(),
    read,
    isReusable: () => isReusable,
    destroy: () => void socket.destroy(),
  }
}

function openSocket({ url, timeout, trust }: Target): Promise<Socket> {
  const isTls = url.protocol === 'https:'
  const host = hostOf(url)
  const port = Number(url.port) || (isTls ? 443 : 80)
  const socket: Socket | TLSSocket = isTls
    ? connectTls({
        host,
        port,
        secureContext: trust(),
        ...(isIP(host) ? {} : { servername: host }),
        ALPNProtocols: ['http/1.1'],
      })
    : connectTcp({ host, port })
  socket.setNoDelay()
  return new Promise((resolve, reject) => {
    socket.setTimeout(timeout, () => socket.destroy(timedOut(url, timeout)))
    socket.once('error', reject)
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.setTimeout(0)
      socket.off('error', reject)
      socket.on('error', () => {}) // readers and writers notice that the connection is closed
      resolve(socket)
    })
  })
}

/** The host name or address, without the brackets of IPv6. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')

const timedOut = (url: URL, timeout: number): Error =>
  Object.assign(new Error(`no connection to ${url.host} within ${timeout / 1000} s`), { code: 'ETIMEDOUT' })
