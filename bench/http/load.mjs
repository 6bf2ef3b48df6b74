// The load generator writes a prepared request to raw sockets. Generators that parse responses and keep statistics,
// like autocannon, use as much CPU as the servers, so they would measure themselves.
//
// For a message { port, size, connections, milliseconds, atLeast }, it keeps one request in flight on each connection
// for `milliseconds`, or longer until `atLeast` responses have arrived, up to TIMEOUT. It then reports the number of
// responses and the elapsed seconds. The process exits with an error after any response other than 200.
import { connect } from 'node:net'
import { jsonBody, requestBytes } from '../payloads.mjs'
import { readResponse } from './response.mjs'

/** Maximum milliseconds to wait for `atLeast` responses. */
const TIMEOUT = 2500

async function run({ port, size, connections, milliseconds, atLeast = 0 }) {
  const bytes = requestBytes(jsonBody(size))
  const opened = Array.from({ length: connections }, () => open(port))
  const sockets = await Promise.all(opened)
  const started = performance.now()
  let responses = 0
  const shouldContinue = () => {
    responses++
    const elapsed = performance.now() - started
    return elapsed < milliseconds || (responses < atLeast && elapsed < TIMEOUT)
  }
  await Promise.all(sockets.map((connection) => keepBusy(connection, bytes, shouldContinue)))
  const seconds = (performance.now() - started) / 1000
  for (const { socket } of sockets) socket.destroy()
  return { responses, seconds }
}

/** Opens a connection that reuses one read buffer, and passes each chunk as text to `connection.read`. */
function open(port) {
  return new Promise((resolve, reject) => {
    const connection = { socket: undefined, read() {} }
    connection.socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(16 * 1024),
        callback(length, buffer) {
          connection.read(buffer.latin1Slice(0, length))
          return true
        },
      },
    })
    connection.socket.once('error', reject).once('connect', () => resolve(connection))
  })
}

/** @param {() => boolean} shouldContinue called after each response; returns whether to send another request */
function keepBusy(connection, bytes, shouldContinue) {
  const { socket } = connection
  return new Promise((resolve, reject) => {
    let text = ''
    connection.read = (chunk) => {
      text += chunk
      const status = readResponse(text)
      if (status === undefined) return
      if (status !== 200) return reject(new Error(text))
      text = ''
      if (shouldContinue()) socket.write(bytes)
      else resolve()
    }
    socket.once('close', () => reject(new Error('the server closed a connection')))
    socket.write(bytes)
  })
}

process.on('message', async (question) => process.send(await run(question)))
process.on('disconnect', () => process.exit())
process.send('ready')
