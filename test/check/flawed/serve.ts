import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { Transform } from 'node:stream'
import type { CheckObserver, HandlerSwitch } from 'geohook/check'
import { KEY } from '../../helpers/deliver.ts'
import type { Flaw } from './flaw.ts'
import { createListener, createSteps, Refusal } from './steps.ts'

/** A receiver to check. */
export interface FlawedServer extends AsyncDisposable {
  url: string
  /** Counts what the handler gets. */
  observer: CheckObserver
  failHandler: HandlerSwitch
}

/**
 * Starts a receiver with a flaw, or a correct one.
 *
 * @param senderTimeout the timeout of the check in milliseconds
 */
export async function serveFlawed(senderTimeout: number, flaw?: Flaw): Promise<FlawedServer> {
  const names: unknown[] = []
  const steps = createSteps(KEY, senderTimeout)
  let failing: string | undefined
  const listener = createListener({ ...steps, ...flaw?.change(steps) }, async (payload) => {
    const name = (payload as { name?: unknown } | null)?.name
    if (failing !== undefined && name === failing) throw new Refusal(500, 'the handler failed')
    names.push(name)
  })
  const server = createServer(listener)
  let port = await listen(server)
  const proxy = flaw?.forward && createProxy(port, flaw.forward)
  if (proxy) port = await listen(proxy)
  return {
    url: `http://127.0.0.1:${port}/`,
    observer: (id) => names.filter((name) => name === `geohook check ${id}`).length,
    failHandler(id, fails) {
      failing = fails ? `geohook check ${id}` : undefined
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
      proxy?.close()
    },
  }
}

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** Returns a proxy that changes requests, and forwards responses as they are. */
function createProxy(port: number, forward: (bytes: Buffer) => Buffer): Server {
  return createTcpServer({ allowHalfOpen: true }, (client) => {
    const receiver = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const change = new Transform({ transform: (bytes, _, done) => done(null, forward(bytes)) })
    client.pipe(change).pipe(receiver).pipe(client)
    client.on('error', () => {}).on('close', () => receiver.destroy())
    receiver.on('error', () => {}).on('close', () => client.destroySoon())
  })
}
