import { once } from 'node:events'
import { connect } from 'node:net'
import { firstResponse } from '../../bench/http/response.mjs'

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

/** Milliseconds without a byte after which a connection is given up. */
const TIMEOUT = 30_000

/**
 * Opens a connection to a local server. It writes any bytes, and reads the responses one after another.
 *
 * @param {number} port
 */
async function openConnection(port, { timeout = TIMEOUT } = {}) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const waiting = []
  let text = ''
  let closes = false
  let hasTimedOut = false
  function read() {
    while (waiting.length > 0) {
      const response = firstResponse(text, waiting[0])
      if (response === undefined) return
      text = text.slice(response.end)
      closes ||= response.closes
      if (response.status >= 200) waiting.shift().resolve(response.status)
    }
  }
  socket.setEncoding('latin1').on('data', (part) => {
    text += part
    read()
  })
  socket.on('error', () => {}) // 'close' follows
  socket.setTimeout(timeout, () => {
    hasTimedOut = true
    socket.destroy()
  })
  const closed = new Promise((resolve) =>
    socket.once('close', () => {
      for (const { resolve: end } of waiting.splice(0)) end('no response')
      resolve(hasTimedOut ? 'left open' : 'closed')
    }),
  )
  await Promise.race([once(socket, 'connect'), closed])
  return {
    /** Resolves with 'closed' when one side has closed the connection, or with 'left open' after the timeout. */
    closed,
    /** True if a response has said that the server will close the connection. */
    get closes() {
      return closes
    },
    /** True if another request can be sent. */
    get isOpen() {
      return socket.readyState === 'open' && !closes && text === '' && waiting.length === 0
    },
    /** Resolves when the bytes are written, or when the connection is closed. */
    write: (bytes) => Promise.race([new Promise((written) => socket.write(bytes, written)), closed]),
    /**
     * Resolves with the status of the next response, or with 'no response' if the connection closes or times out first.
     *
     * @param {{ hasBody?: boolean }} [request] `hasBody`: false for the response to a HEAD request
     */
    nextStatus({ hasBody = true } = {}) {
      if (socket.destroyed) return Promise.resolve('no response')
      return new Promise((resolve) => {
        waiting.push({ hasBody, resolve })
        read()
      })
    },
    destroy: () => socket.destroy(),
  }
}
