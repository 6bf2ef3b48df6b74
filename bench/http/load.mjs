// The load generator. On the raw socket, with one request that is made before: what parses answers and keeps statistics
// of each, as autocannon does, costs as much of a core as the servers here, and then measures itself.
//
// Asked with { port, size, connections, milliseconds, atLeast }, it keeps one request in flight on each connection for so
// long, or until so many are answered (within some seconds), and says how many were, in how many seconds. An
// answer other than 200 ends the process with an error.
import { connect } from 'node:net'
import { jsonBody } from '../lib/payloads.mjs'
import { readAnswer } from './answer.mjs'
import { requestHead, signedHeaders } from './request.mjs'

/** Milliseconds that it takes at most to have so many answers as are asked for. */
const PATIENCE = 5000

const requests = new Map()

/** One for each size: with the time of now in one signature, which is good for five minutes. */
function request(size) {
  if (!requests.has(size)) {
    const body = jsonBody(size)
    requests.set(size, Buffer.concat([requestHead(signedHeaders(body), size), body]))
  }
  return requests.get(size)
}

async function run({ port, size, connections, milliseconds, atLeast = 0 }) {
  const bytes = request(size)
  const opened = Array.from({ length: connections }, () => open(port))
  const sockets = await Promise.all(opened)
  const started = performance.now()
  let answers = 0
  const goesOn = () => {
    answers++
    const elapsed = performance.now() - started
    return elapsed < milliseconds || (answers < atLeast && elapsed < PATIENCE)
  }
  await Promise.all(sockets.map((connection) => keepBusy(connection, bytes, goesOn)))
  const seconds = (performance.now() - started) / 1000
  for (const { socket } of sockets) socket.destroy()
  return { answers, seconds }
}

/** A connection that reads into one piece of memory, and hands on what it has read as a text. */
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

/** @param {() => boolean} goesOn is called with each answer */
function keepBusy(connection, bytes, goesOn) {
  const { socket } = connection
  return new Promise((resolve, reject) => {
    let text = ''
    connection.read = (piece) => {
      text += piece
      const status = readAnswer(text)
      if (status === undefined) return
      if (status !== 200) return reject(new Error(text))
      text = ''
      if (goesOn()) socket.write(bytes)
      else resolve()
    }
    socket.once('close', () => reject(new Error('the server has closed a connection')))
    socket.write(bytes)
  })
}

process.on('message', async (question) => process.send(await run(question)))
process.on('disconnect', () => process.exit())
process.send('ready')
