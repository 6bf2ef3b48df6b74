import { checkOptions, isFunction, milliseconds, type OptionNames } from '../options.ts'
import { onStopSignal } from '../shared/stop-signal.ts'
import type { Receiver } from './types.ts'

/** A server of `node:http`, `node:https` or `node:http2`. Other runtimes have no types for it. */
interface NodeServer {
  on(event: string, listener: (...args: never[]) => void): unknown
  prependListener(event: string, listener: (...args: never[]) => void): unknown
  close(): unknown
  closeAllConnections?(): void
  closeIdleConnections?(): void
}

/** A session or a connection of a server. */
interface Opened {
  once(event: 'close', listener: () => void): unknown
  close(): void
  destroy(): void
}

/** Options of {@link closeOnSignal}. */
export interface ShutdownOptions {
  /** Called after the server and the receiver are closed, for example to close an inbox. */
  after?: (() => unknown) | undefined
  /** Maximum milliseconds to wait, 1 to 2^31 - 1. After that, the process exits with code 1. Default 5,000. */
  timeout?: number | undefined
}

const NAMES: OptionNames<ShutdownOptions> = { after: isFunction, timeout: /* @__PURE__ */ milliseconds() }

/**
 * Milliseconds between two calls that close idle connections. Until then, a client may send another request on an idle
 * connection.
 */
const IDLE = 1_000

/**
 * Shuts the process down on the first SIGTERM or SIGINT (Ctrl-C): stops listening, responds to the requests in
 * flight and to those already sent on open connections, closes each connection after its response, calls `after`,
 * and lets the process exit. Another signal terminates it immediately; within a second it counts as the same one,
 * because programs like tsx forward Ctrl-C a second time. HTTP/2 sessions accept no new requests and close after their
 * last response. After 80 % of the timeout, all connections are closed.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { closeOnSignal, createReceiver } from 'geohook'
 * import { webhook } from 'geohook/node'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', console.log)
 * closeOnSignal(createServer(webhook(receiver)).listen(3000), receiver)
 * ```
 */
export function closeOnSignal(
  server: NodeServer,
  receiver: Pick<Receiver, 'close'>,
  options: ShutdownOptions = {},
): void {
  const { after, timeout = 5_000 } = checkOptions(options, NAMES)
  const sessions = openOf(server, 'session')
  const sockets = openOf(server, 'connection')

  async function close(): Promise<void> {
    // A handler that never returns must not keep the process alive.
    setTimeout(() => process.exit(1), timeout).unref()
    const closingAll = setTimeout(() => {
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections?.() // also closes connections that were opened before this function was called
    }, timeout * 0.8)
    await closeServer(server, sessions, receiver)
    clearTimeout(closingAll)
    await after?.()
  }
  onStopSignal(() => void close())
}

/** Returns a live set of the open sessions or connections of a server. */
function openOf(server: NodeServer, event: string): ReadonlySet<Opened> {
  const open = new Set<Opened>()
  server.on(event, (opened: Opened) => {
    open.add(opened)
    opened.once('close', () => open.delete(opened))
  })
  return open
}

async function closeServer(
  server: NodeServer,
  sessions: ReadonlySet<Opened>,
  receiver: Pick<Receiver, 'close'>,
): Promise<void> {
  // From now on every response, from any route, closes its connection.
  server.prependListener('request', (_req: unknown, res: { shouldKeepAlive: boolean }) => {
    res.shouldKeepAlive = false
  })
  const closed = new Promise<void>((resolve) => server.on('close', resolve))
  stopListening(server)
  for (const session of sessions) session.close()
  // Some HTTP/2 servers lack `closeIdleConnections`.
  const closingIdle = setInterval(() => server.closeIdleConnections?.(), IDLE)
  await Promise.all([receiver.close(), closed])
  clearInterval(closingIdle)
}

/**
 * Calls `close` of `net.Server`, which all servers inherit: that of `http.Server` would also close idle connections,
 * although a client may already have sent a request on them.
 */
function stopListening(server: NodeServer): void {
  let { close } = server
  for (let type = Object.getPrototypeOf(server); type; type = Object.getPrototypeOf(type))
    if (Object.hasOwn(type, 'close')) close = type.close
  close.call(server)
}
