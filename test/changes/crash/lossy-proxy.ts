import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Random } from '../../inbox/crash/random.ts'

/** A proxy in front of the receiver, which loses some deliveries: it confirms them, but does not forward them. */
export interface LossyProxy {
  url: string
  /** Number of deliveries that were lost. */
  readonly dropped: number
  /** Number of deliveries that the receiver stored. */
  readonly stored: number
  /** Forwards all deliveries from now on. */
  stopDropping(): void
  close(): Promise<void>
}

/** @param share share of the deliveries to lose, 0 to 1 */
export async function startLossyProxy(port: number, share: number, random: Random): Promise<LossyProxy> {
  let dropped = 0
  let stored = 0
  let current = share
  const server = createServer(async (req, res) => {
    const body = await buffer(req)
    if (random.next() < current) {
      dropped++
      return res.writeHead(200).end()
    }
    const headers = new Headers()
    for (const [name, value] of Object.entries(req.headers))
      if (!['connection', 'content-length', 'host'].includes(name)) headers.set(name, String(value))
    try {
      const response = await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', headers, body })
      if (response.ok) stored++
      res.writeHead(response.status).end()
    } catch {
      res.writeHead(502).end() // the receiver is dead
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    get dropped() {
      return dropped
    },
    get stored() {
      return stored
    },
    stopDropping() {
      current = 0
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
