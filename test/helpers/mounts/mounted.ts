import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Receiver } from 'geohook'

/** A running server with a mounted receiver. */
export interface Mounted {
  url: string
  host?: Host
  close(): Promise<void>
}

/** Steps that a host performs before it calls the receiver. */
export interface Host {
  /** The host reads the whole body, up to its own size limit. Lambda, Azure and Google Cloud do this. */
  readsBody?: boolean
  /** The host parses the body, and rejects invalid bodies. Google Cloud does this. */
  parsesBody?: boolean
  /** The host keeps only the last of repeated headers or parameters. An ALB without multi-value headers does this. */
  keepsLast?: boolean
}

export interface MountOptions {
  /** True if other code reads the body before the receiver does, without keeping the raw bytes. */
  bodyIsRead?: boolean
}

export type Mount = (receiver: Receiver, options?: MountOptions) => Promise<Mounted>

export const listen = (listener: RequestListener): Promise<Mounted> => mountServer(createServer(listener))

export async function mountServer(server: Server): Promise<Mounted> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: urlOf(server),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export const urlOf = (server: Server): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
