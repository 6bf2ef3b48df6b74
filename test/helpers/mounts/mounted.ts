import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Receiver } from 'geohook'

/** A receiver behind a real socket. */
export interface Mounted {
  url: string
  host?: Host
  close(): Promise<void>
}

/** Properties of a host that affect a request before the receiver sees it. */
export interface Host {
  /** Reads the whole body, within its own limits, before it calls the receiver: Lambda, Azure, Google Cloud. */
  readsBody?: boolean
  /** Rejects bodies that it cannot parse: Google Cloud. */
  parsesBody?: boolean
  /** Passes on only the last value of a repeated header or parameter: a load balancer without multi-value headers. */
  keepsLast?: boolean
}

export interface MountOptions {
  /** Other code parses the body before the receiver is called, and does not keep the bytes. */
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
