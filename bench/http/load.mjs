// The load generator. On the raw socket, with one request that is made before: what parses answers and keeps statistics
// of each, as autocannon does, costs as much of a core as the servers here, and then measures itself.
//
// Asked with { port, size, milliseconds, connections }, it keeps one request in flight on each connection for so long,
// and says how many were answered, in how many seconds. An answer other than 200 ends the process with an error.
import { connect } from 'node:net'
import { jsonBody } from '../lib/payloads.mjs'
import { readAnswer } from './answer.mjs'
import { requestHead, signedHeaders } from './request.mjs'

const requests = new Map()

/** One for each size: with the time of now in one signature, which is good for five minutes. */
function request(size) {
  if (!requests.has(size)) {
    const body = jsonBody(size)
    requests.set(size, Buffer.concat([requestHead(signedHeaders(body), size), body]))
  }
  return requests.get(size)
}

async function run({ port, size, milliseconds, connections }) {
  const bytes = request(size)
  const opened = Array.from({ length: connections }, () => open(port))
  const sockets = await Promise.all(opened)
  const started = performance.now()
  const until = started + milliseconds
  const answers = await Promise.all(sockets.map((connection) => keepBusy(connection, bytes, until)))
  const seconds = (performance.now() - started) / 1000
  for (const { socket } of sockets) socket.destroy()
  return { answers: answers.reduce((sum, count) => sum + count, 0), seconds }
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

/** @returns {Promise<number>} how many requests it had answered */
function keepBusy(connection, bytes, until) {
  const { socket } = connection
  return new Promise((resolve, reject) => {
    let [text, answers] = ['', 0]
    connection.read = (piece) => {
      text += piece
      const status = readAnswer(text)
      if (status === undefined) return
      if (status !== 200) return reject(new Error(text))
      text = ''
      answers++
      if (performance.now() < until) socket.write(bytes)
      else resolve(answers)
    }
    socket.once('close', () => reject(new Error('the server has closed a connection')))
    socket.write(bytes)
  })
}

process.on('message', async (question) => process.send(await run(question)))
process.on('disconnect', () => process.exit())
process.send('ready')
