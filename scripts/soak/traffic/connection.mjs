import { once } from 'node:events'
import { connect } from 'node:net'
import { firstResponse } from '../../../bench/http/response.mjs'

/** Milliseconds without a byte after which a connection is given up. */
const TIMEOUT = 30_000

/**
 * Opens a connection to a local server. It writes any bytes, and reads the responses one after another.
 *
 * @param {number} port
 */
export async function openConnection(port, { timeout = TIMEOUT } = {}) {
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
