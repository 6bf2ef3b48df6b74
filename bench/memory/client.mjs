// What uploads to a server. Answers questions of the form { task, … } with what the task returns.
import { setTimeout as wait } from 'node:timers/promises'
import { requestHead, signedHeaders } from '../http/request.mjs'
import { jsonBody } from '../lib/payloads.mjs'
import { open } from './connection.mjs'

const AT_ONCE = 100 // connections that are opened: more are more than a backlog takes
let held = []

const bodies = new Map()
function bodyOf(size) {
  if (!bodies.has(size)) {
    const body = jsonBody(size)
    bodies.set(size, { body, headers: signedHeaders(body) })
  }
  return bodies.get(size)
}

/** A signed request; `changes` to its headers make it a wrong one. */
function request(size, changes) {
  const { body, headers } = bodyOf(size)
  return Buffer.concat([requestHead({ ...headers, ...changes }, size), body])
}

async function openAll(port, count) {
  const connections = []
  while (connections.length < count) {
    const some = Math.min(AT_ONCE, count - connections.length)
    connections.push(...(await Promise.all(Array.from({ length: some }, () => open(port)))))
  }
  return connections
}

const tasks = {
  /** One whole request after another, on one connection. @returns the statuses */
  async upload({ port, size, changes, count = 1 }) {
    const bytes = request(size, changes)
    const connection = await open(port)
    const statuses = []
    for (let sent = 0; sent < count; sent++) {
      const answered = connection.answer()
      connection.write(bytes)
      statuses.push(await answered)
    }
    connection.close()
    return statuses
  },

  /** Uploads of which only the last byte is missing. */
  async begin({ port, size, count }) {
    const bytes = request(size)
    const connections = await openAll(port, count)
    held = connections.map((connection) => ({
      connection,
      answered: connection.answer(),
      last: bytes.subarray(-1),
    }))
    await Promise.all(connections.map((connection) => connection.write(bytes.subarray(0, -1))))
  },

  /** The last bytes, all at once. @returns the statuses */
  async finish() {
    for (const { connection, last } of held) connection.write(last)
    const statuses = await Promise.all(held.map(({ answered }) => answered))
    for (const { connection } of held) connection.close()
    return statuses
  },

  /** Uploads that stop behind a few bytes. */
  async stall({ port, size, count, sent }) {
    const { headers } = bodyOf(size)
    const bytes = Buffer.concat([requestHead(headers, size), bodyOf(size).body.subarray(0, sent)])
    const connections = await openAll(port, count)
    held = connections.map((connection) => {
      const started = performance.now()
      const ended = connection
        .answer()
        .then((status) => ({ status, milliseconds: performance.now() - started }))
      connection.write(bytes)
      return { connection, ended }
    })
  },

  /** @returns how each of the stalled ones has ended */
  async ended() {
    const ends = await Promise.all(held.map(({ ended }) => ended))
    for (const { connection } of held) connection.close()
    return ends
  },

  /** Requests at an easy pace for so long. @returns the milliseconds that each took */
  async steady({ port, size, connections, milliseconds, pause }) {
    const bytes = request(size)
    const until = performance.now() + milliseconds
    const times = []
    const one = async () => {
      const connection = await open(port)
      while (performance.now() < until) {
        const answered = connection.answer()
        const started = performance.now()
        connection.write(bytes)
        const status = await answered
        times.push(performance.now() - started)
        if (status !== 200) throw new Error(`answered ${status}`)
        await wait(pause)
      }
      connection.close()
    }
    await Promise.all(Array.from({ length: connections }, one))
    return times
  },
}

process.on('message', async ({ task, ...options }) => process.send((await tasks[task](options)) ?? null))
process.on('disconnect', () => process.exit())
process.send('ready')
