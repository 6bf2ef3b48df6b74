import { once } from 'node:events'
import { createServer } from 'node:net'

const FIRST = 20_000
const PER_WORKER = 500
/** Vitest numbers its workers from 1. */
const worker = Number(process.env.VITEST_POOL_ID ?? 0) % 24
let next = Math.floor(Math.random() * PER_WORKER)

/**
 * Returns a free port below the ephemeral range, which starts at 32768 on Linux. The system therefore does not assign
 * it to another process before the test's program listens there, or while that program is stopped. Each worker has
 * ports of its own, and uses them in turn, so that no two tests get the same one.
 */
export async function findPort(): Promise<number> {
  for (;;) {
    const port = FIRST + worker * PER_WORKER + (next++ % PER_WORKER)
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
