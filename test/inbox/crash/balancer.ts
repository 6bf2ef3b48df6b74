import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP load balancer for several receivers. */
export interface Balancer {
  port: number
  close(): Promise<void>
}

/** Forwards each connection to the next port that accepts it. If a receiver exits, closes its connections. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>()
  let next = 0

  /** Connects to a port. Returns `undefined` if no process listens there. */
  async function reach(port: number): Promise<Socket | undefined> {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return socket
    } catch {
      return undefined
    }
  }

  async function forward(client: Socket): Promise<void> {
    sockets.add(client)
    client.on('error', () => {}).on('close', () => sockets.delete(client))
    for (let tried = 0; tried < ports.length; tried++) {
      const receiver = await reach(ports[next++ % ports.length] ?? 0)
      if (!receiver) continue
      receiver.on('error', () => {}).on('close', () => client.destroy())
      client.on('close', () => receiver.destroy())
      client.pipe(receiver).pipe(client)
      return
    }
    client.destroy()
  }

  const server = createServer((client) => void forward(client)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
