import { fileURLToPath } from 'node:url'
import { start } from '../lib/child.mjs'

const path = (name) => fileURLToPath(new URL(name, import.meta.url))

/** Starts the client on a different core than the servers. */
export const startClient = () => start(path('client.mjs'), { core: 1 })

/** @param {string} listener in `listeners.mjs` @param {{ limit?: number, bodyTimeout?: number }} [options] */
export const startServer = (listener, options = {}) =>
  start(path('server.mjs'), {
    core: 0,
    args: [listener, JSON.stringify(options)],
    execArgv: ['--expose-gc', '--no-warnings'],
  })

/** Waits until a server has received this many body bytes. */
export async function arrived(server, bytes) {
  while ((await server.ask('arrived')) < bytes) await new Promise((resolve) => setTimeout(resolve, 5))
}
