import { fileURLToPath } from 'node:url'
import { start } from '../lib/child.mjs'

const path = (name) => fileURLToPath(new URL(name, import.meta.url))

/** Uploads come from a core that the servers do not use. */
export const startClient = () => start(path('client.mjs'), { core: 1 })

/** @param {string} listener in `listeners.mjs` @param {{ limit?: number, bodyTimeout?: number }} [options] */
export const startServer = (listener, options = {}) =>
  start(path('server.mjs'), {
    core: 0,
    args: [listener, JSON.stringify(options)],
    execArgv: ['--expose-gc', '--no-warnings'],
  })

/** Waits until so many bytes of bodies have arrived at a server. */
export async function arrived(server, bytes) {
  while ((await server.ask('arrived')) < bytes) await new Promise((resolve) => setTimeout(resolve, 5))
}
