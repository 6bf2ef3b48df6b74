import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onStopSignal } from '../../adapters/stop-signal.ts'
import { type CliError, usageError } from '../errors.ts'

/** A listening HTTP server. */
export interface RunningServer {
  /** URL with the actual port, without a path. */
  url: string
  /** Stops listening and closes all connections. */
  close(): Promise<void>
}

/**
 * @param option the option that gives the port, for the hint of an error
 * @throws {CliError} exit code 2 if the server cannot listen on the port
 */
export async function startServer(
  listener: RequestListener,
  port: number,
  host: string,
  option = '--port',
): Promise<RunningServer> {
  const server: Server = createServer(listener)
  server.maxHeadersCount = 0 // no limit, so that Node never drops the signature; the total size stays limited
  try {
    await once(server.listen(port, host), 'listening')
  } catch (error) {
    throw toPortError(error, port, host, option)
  }
  const { port: actualPort, family, address } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

export function toPortError(error: unknown, port: number, host: string, option = '--port'): CliError {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    return usageError(`port ${port} of ${host} is in use`, `Give another ${option}; 0 picks a free one.`)
  }
  if (code === 'EACCES') return usageError(`port ${port} requires privileges`, `Give a ${option} above 1023.`)
  return usageError(`cannot listen on ${host}: ${code ?? message}`, 'Give an address of this machine.')
}

/**
 * Resolves on the first SIGINT (Ctrl-C) or SIGTERM. Another signal terminates the process immediately; within a second
 * it counts as the same one.
 */
export const untilStopped = (): Promise<void> => new Promise(onStopSignal)
