import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A free port below those that the system gives away by itself (from 32768 on Linux): until a program
 * listens there, and while it is down, nobody else gets it, and answers in its place.
 */
export async function findPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
