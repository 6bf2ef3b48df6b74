import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type CliError, usageError } from '../errors.ts'

export interface RunningServer {
  /** URL with the actual port, without a path. */
  url: string
  /** Stops listening and closes all connections. */
  close(): Promise<void>
}

/** A certificate, with its intermediate certificates, and its private key. PEM. */
export interface TlsCredentials {
  cert: string | Buffer
  key: string | Buffer
}

export interface ServerOptions {
  /** The option that gives the port, for the hint of an error. Default: `--port`. */
  option?: string
  tls?: (TlsCredentials & { onError(error: NodeJS.ErrnoException): void }) | undefined
}

const HANDSHAKE_TIMEOUT = 10_000

/** @throws {CliError} exit code 2 if the server cannot listen on the port */
export async function startServer(
  listener: http.RequestListener,
  port: number,
  host: string,
  { option = '--port', tls }: ServerOptions = {},
): Promise<RunningServer> {
  const server = tls
    ? https.createServer({ cert: tls.cert, key: tls.key, handshakeTimeout: HANDSHAKE_TIMEOUT }, listener)
    : http.createServer(listener)
  if (tls) server.on('tlsClientError', tls.onError)
  const sockets = trackSockets(server)
  server.maxHeadersCount = 0 // no limit, so that Node never drops the signature; the total size stays limited
  try {
    await once(server.listen(port, host), 'listening')
  } catch (error) {
    throw toPortError(error, port, host, option)
  }
  const address = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://${hostOf(address, tls !== undefined)}:${address.port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      for (const socket of sockets) socket.destroy() // those whose TLS handshake is incomplete
      await closed
    },
  }
}

/** No certificate is valid for the address that means every address of this machine. */
function hostOf({ address, family }: AddressInfo, isSecure: boolean): string {
  if (isSecure && (address === '0.0.0.0' || address === '::')) return 'localhost'
  return family === 'IPv6' ? `[${address}]` : address
}

function trackSockets(server: http.Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

export function toPortError(error: unknown, port: number, host: string, option = '--port'): CliError {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    return usageError(`port ${port} of ${host} is in use`, `Give another ${option}; 0 picks a free one.`)
  }
  if (code === 'EACCES') return usageError(`port ${port} requires privileges`, `Give a ${option} above 1023.`)
  return usageError(`cannot listen on ${host}: ${code ?? message}`, 'Give an address of this machine.')
}
