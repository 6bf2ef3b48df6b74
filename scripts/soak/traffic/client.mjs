import { openConnection } from './connection.mjs'

/** Milliseconds after which an idle connection is not used again. Servers close it after 5 seconds. */
const MAX_IDLE = 2_000

/**
 * Sends the requests of one target, and checks the responses.
 *
 * @param {{ name: string, url: string, hasInbox: boolean, host: object }} target
 * @param {{ ledger: object, onFault: (fault: string) => void, nextId: () => string }} run
 */
export function createClient(target, { ledger, onFault, nextId }) {
  const { port, pathname } = new URL(target.url)
  const idle = []
  const open = new Set()
  let requests = 0

  async function connect() {
    const connection = await openConnection(Number(port))
    open.add(connection)
    connection.closed.then(() => open.delete(connection))
    return connection
  }

  return {
    name: target.name,
    path: pathname,
    host: target.host,
    hasInbox: target.hasInbox,
    /** The status of a new delivery. */
    accepted: target.hasInbox ? 202 : 200,
    nextId,
    acknowledge: (id) => ledger.acknowledge(id, target.name),
    get requests() {
      return requests
    },
    /** Counts requests that a scene sends by itself. */
    count(more = 1) {
      requests += more
    },
    connect,
    /** Calls a function with a connection that earlier requests may have used. */
    async reuse(use) {
      let connection
      while (idle.length > 0 && !connection) {
        const { since, connection: candidate } = idle.pop()
        if (candidate.isOpen && performance.now() - since < MAX_IDLE) connection = candidate
        else candidate.destroy()
      }
      connection ??= await connect()
      const result = await use(connection)
      if (connection.isOpen) idle.push({ since: performance.now(), connection })
      else connection.destroy()
      return result
    },
    /** Sends one request, and resolves with the status. */
    async send(connection, bytes, request) {
      requests++
      const status = connection.nextStatus(request)
      await connection.write(bytes)
      return status
    },
    /** @param {string} scene @param {unknown} actual @param {...unknown} expected the allowed values */
    expect(scene, actual, ...expected) {
      if (expected.includes(actual)) return true
      onFault(`${target.name}: ${scene}: ${actual} instead of ${expected.join(' or ')}`)
      return false
    },
    /** Closes all connections. */
    async close() {
      idle.length = 0
      const closing = [...open].map(({ closed }) => closed)
      for (const connection of open) connection.destroy()
      await Promise.all(closing)
    },
  }
}
