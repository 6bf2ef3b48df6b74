import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CliError, usageError } from '../errors.ts'

/** A server that runs until it is stopped. */
export interface Running {
  /** The base address. */
  url: string
  /** Takes no more requests, and resolves when all connections are closed. */
  close(): Promise<void>
}

/** @throws {CliError} exit code 2 where the port cannot be had */
export async function startServer(listener: RequestListener, port: number, host: string): Promise<Running> {
  const server: Server = createServer(listener)
  server.maxHeadersCount = 0 // their size is bounded; one that were cut off could be the signature
  try {
    await once(server.listen(port, host), 'listening')
  } catch (error) {
    throw toPortError(error, port, host)
  }
  const { port: taken, family, address } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** The error of a port that cannot be had. */
export function toPortError(error: unknown, port: number, host: string): CliError {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    return usageError(`port ${port} of ${host} is in use`, 'Give another --port; 0 takes a free one.')
  }
  if (code === 'EACCES') return usageError(`port ${port} may not be used`, 'Give a --port above 1023.')
  return usageError(`cannot listen on ${host}: ${code ?? message}`, 'Give an address of this machine.')
}

/** Resolves at the first Ctrl-C or SIGTERM. A second one ends the process at once, as it does without this. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop)
      resolve()
    }
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  })
}
