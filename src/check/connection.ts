import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, checkServerIdentity, connect as connectTls, type TLSSocket } from 'node:tls'
import type { HeaderPairs } from '../shared/headers.ts'
import type { Redactor } from '../shared/redact.ts'
import type { Trust } from '../shared/tls-trust.node.ts'
import { ByteReader, type Reply, readResponse } from './response.ts'

/** Where to connect. */
export interface Target {
  readonly url: URL
  /** Milliseconds to wait for a connection, and for each response. */
  readonly timeout: number
  readonly trust: Trust
  /** Added to each request. */
  readonly headers: HeaderPairs
  /** Hides the key in what the receiver sends. */
  readonly hide: Redactor['text']
}

/** How to read a response. */
export interface ReadOptions {
  /** The request, recorded for scenarios that compare it with the response. Default: a POST that is not recorded. */
  readonly request?: RequestParts
  /** Milliseconds to wait. Default: the timeout of the target. */
  readonly timeout?: number
  /** True to return 1xx responses too. Default false. */
  readonly interim?: boolean
}

/** A reply, and the request if a scenario judges them together. */
export interface RecordedReply {
  readonly reply: Reply
  readonly request?: RequestParts | undefined
}

/** A connection to the receiver. It sends exactly the given bytes. */
export class Connection {
  /** True if another request can be sent, as far as the last response says. */
  isReusable = true
  #lastWritten = performance.now()
  readonly #target: Target
  readonly #socket: Socket
  readonly #reader: ByteReader
  readonly #replies: RecordedReply[]

  constructor(target: Target, socket: Socket, replies: RecordedReply[]) {
    socket.setNoDelay()
    this.#target = target
    this.#socket = socket
    this.#reader = new ByteReader(socket)
    this.#replies = replies
  }

  /** Resolves when the bytes are written, or when the receiver has closed the connection. */
  async write(bytes: string | Uint8Array): Promise<void> {
    const socket = this.#socket
    this.#lastWritten = performance.now()
    if (socket.destroyed || !socket.writable) return
    await new Promise<void>((resolve) => {
      socket.once('close', resolve)
      socket.write(bytes, () => {
        socket.off('close', resolve)
        resolve()
      })
    })
    this.#lastWritten = performance.now()
  }

  /** Ends the sending half of the connection. */
  end(): void {
    this.#socket.end()
  }

  /** Reads the next response, and records it for the scenarios that judge all of them. */
  async read({ request, timeout = this.#target.timeout, interim = false }: ReadOptions = {}): Promise<Reply> {
    const deadline = performance.now() + timeout
    for (;;) {
      const { reply, isReusable } = await readResponse(this.#reader, {
        started: this.#lastWritten,
        deadline,
        hasBody: request?.method !== 'HEAD',
        hide: this.#target.hide,
      })
      this.isReusable = isReusable
      if (!interim && reply.status !== undefined && reply.status < 200) continue
      this.#replies.push({ reply, request })
      return reply
    }
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.#socket.destroy()
  }
}

/**
 * Opens a connection. Rejects with Node's error if the receiver is unreachable or its certificate is not trusted.
 *
 * @param replies where the connection records what it reads
 */
export async function openConnection(target: Target, replies: RecordedReply[] = []): Promise<Connection> {
  const isTls = target.url.protocol === 'https:'
  const socket = await (isTls
    ? openTls(target, { secureContext: target.trust(), ALPNProtocols: ['http/1.1'] })
    : untilOpen(target, connectTcp(addressOf(target.url)), 'connect'))
  return new Connection(target, socket, replies)
}

/** Resolves when the connection is open. */
function untilOpen<T extends Socket>({ url, timeout }: Target, socket: T, event: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = new Error(`no connection to ${url.host} within ${timeout / 1000} s`)
    socket.setTimeout(timeout, () => socket.destroy(Object.assign(late, { code: 'ETIMEDOUT' })))
    socket.once('error', reject)
    socket.once(event, () => {
      socket.setTimeout(0)
      socket.off('error', reject)
      socket.on('error', () => {}) // readers and writers notice that the connection is closed
      resolve(socket)
    })
  })
}

function openTls(target: Target, options: ConnectionOptions): Promise<TLSSocket> {
  const address = addressOf(target.url)
  const servername = isIP(address.host) ? {} : { servername: address.host }
  return untilOpen(target, connectTls({ ...address, ...servername, ...options }), 'secureConnect')
}

const addressOf = (url: URL): { host: string; port: number } => ({
  host: hostOf(url),
  port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
})

/** The host name or address, without the brackets of IPv6. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')

/** A request to write. */
export interface RequestParts {
  /** Default POST. */
  readonly method?: string
  /** Path and query. Default: those of the payload URL. */
  readonly path?: string
  /** Headers in this order, also repeated ones. */
  readonly headers?: HeaderPairs
  readonly body?: Uint8Array
  /** The value of content-length. Default: the length of the body. `null` leaves the header out. */
  readonly length?: number | null
}

/** Returns the head of a request as bytes, ending with the empty line. Values are written as Latin-1. */
export function writeHead({ url, headers: added }: Target, request: RequestParts): Buffer {
  const { method = 'POST', path = url.pathname + url.search, headers = [], body, length } = request
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${url.host}`]
  for (const [name, value] of [...added, ...headers]) lines.push(`${name}: ${value}`)
  const contentLength = length === undefined ? body?.length : length
  if (contentLength !== undefined && contentLength !== null) lines.push(`content-length: ${contentLength}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/** Returns a whole request as bytes. */
export const writeRequest = (target: Target, request: RequestParts): Buffer =>
  Buffer.concat([writeHead(target, request), request.body ?? Buffer.alloc(0)])

/** Returns one chunk of a body with `transfer-encoding: chunked`. No bytes make the last chunk. */
export const writeChunk = (bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])

/** The certificate of a receiver, and whether senders trust it. */
export interface TlsReport {
  /** Node's code, for example `SELF_SIGNED_CERT_IN_CHAIN`; undefined for a trusted chain. */
  readonly chainError: string | undefined
  /** Why the certificate is not for this host; undefined if it is. */
  readonly hostError: string | undefined
  /** The last moment of the certificate. */
  readonly validTo: Date
}

/** Connects without sending anything. Rejects with Node's error if the receiver is unreachable or does not speak TLS. */
export async function inspectTls(target: Target): Promise<TlsReport> {
  const socket = await openTls(target, { secureContext: target.trust(), rejectUnauthorized: false })
  const certificate = socket.getPeerCertificate()
  const code = socket.authorizationError as unknown as string | null
  socket.destroy()
  return {
    chainError: code === null || code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? undefined : String(code),
    hostError: checkServerIdentity(hostOf(target.url), certificate)?.message,
    validTo: new Date(certificate.valid_to),
  }
}

/** Errors of a handshake that the receiver ended. The others come from this side, or say only that nothing arrived. */
const ENDED_BY_RECEIVER = /^ERR_SSL_(?!NO_|INTERNAL_ERROR)|^ECONNRESET$/

/** Offers only versions before TLS 1.2. Returns an error if it does not show whether the receiver accepts them. */
export async function offerOldTls(target: Target): Promise<'accepted' | 'refused' | Error> {
  try {
    const socket = await openTls(target, {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0', // OpenSSL would otherwise not offer them
      rejectUnauthorized: false,
    })
    socket.destroy()
    return 'accepted'
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return ENDED_BY_RECEIVER.test(code) ? 'refused' : (error as Error)
  }
}
