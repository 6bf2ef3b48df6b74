import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Returns a free port below the ephemeral range, which starts at 32768 on Linux. The system therefore does not assign
 * it to another process before the test's program listens there, or while that program is stopped.
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
