import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP connection to a server of a queue, which a test can cut. */
export interface Link {
  /** The URL of the server, by way of the link. */
  url: string
  /** Closes all connections, and refuses further ones. */
  cut(): void
  restore(): void
  close(): Promise<void>
}

const PORTS: Record<string, number> = { 'redis:': 6379, 'amqp:': 5672, 'nats:': 4222, 'postgres:': 5432 }

export async function createLink(target: string): Promise<Link> {
  const { hostname, port, protocol } = new URL(target)
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    if (isCut) return client.destroy()
    const upstream = connect(Number(port) || (PORTS[protocol] ?? 0), hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket)
          other.destroy()
        })
      socket.pipe(other)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cut,
    restore() {
      isCut = false
    },
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
