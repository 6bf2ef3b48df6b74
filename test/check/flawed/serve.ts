import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Observer } from 'geohook/check'
import { KEY } from '../../helpers/deliver.ts'
import type { Flaw } from './flaws.ts'
import { createListener, createSteps } from './steps.ts'

/** A receiver to check. */
export interface FlawedServer extends AsyncDisposable {
  url: string
  /** Counts what the handler gets. */
  observer: Observer
}

/** Starts a receiver with a flaw, or a correct one. */
export async function serveFlawed(flaw?: Flaw): Promise<FlawedServer> {
  const names: unknown[] = []
  const steps = createSteps(KEY)
  const listener = createListener({ ...steps, ...flaw?.change(steps) }, async (payload) => {
    names.push((payload as { name?: unknown } | null)?.name)
  })
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    observer: (id) => names.filter((name) => name === `geohook check ${id}`).length,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
