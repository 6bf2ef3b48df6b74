// Uploads bodies to a server. Replies to each message { task, … } with the result of that task.
import { setTimeout as wait } from 'node:timers/promises'
import { requestHead, signedHeaders } from '../http/request.mjs'
import { jsonBody } from '../lib/payloads.mjs'
import { open } from './connection.mjs'

const BATCH = 100 // number of connections opened at a time: a server's backlog is limited
let uploads = []

const bodies = new Map()
function bodyOf(size) {
  if (!bodies.has(size)) {
    const body = jsonBody(size)
    bodies.set(size, { body, headers: signedHeaders(body) })
  }
  return bodies.get(size)
}

/** A signed request, with optional changes to its headers. */
function request(size, changes) {
  const { body, headers } = bodyOf(size)
  return Buffer.concat([requestHead({ ...headers, ...changes }, size), body])
}

async function openAll(port, count) {
  const connections = []
  while (connections.length < count) {
    const batch = Math.min(BATCH, count - connections.length)
    connections.push(...(await Promise.all(Array.from({ length: batch }, () => open(port)))))
  }
  return connections
}

const tasks = {
  /** Sends complete requests one after another on one connection. @returns the statuses */
  async upload({ port, size, changes, count = 1 }) {
    const bytes = request(size, changes)
    const connection = await open(port)
    const statuses = []
    for (let sent = 0; sent < count; sent++) {
      const response = connection.nextStatus()
      connection.write(bytes)
      statuses.push(await response)
    }
    connection.close()
    return statuses
  },

  /** Sends each upload except for its last byte. */
  async begin({ port, size, count }) {
    const bytes = request(size)
    const connections = await openAll(port, count)
    uploads = connections.map((connection) => ({
      connection,
      status: connection.nextStatus(),
      last: bytes.subarray(-1),
    }))
    await Promise.all(connections.map((connection) => connection.write(bytes.subarray(0, -1))))
  },

  /** Sends the last byte of all uploads. @returns the statuses */
  async finish() {
    for (const { connection, last } of uploads) connection.write(last)
    const statuses = await Promise.all(uploads.map(({ status }) => status))
    for (const { connection } of uploads) connection.close()
    return statuses
  },

  /** Sends the first bytes of each upload, and then nothing more. */
  async stall({ port, size, count, sent }) {
    const { headers } = bodyOf(size)
    const bytes = Buffer.concat([requestHead(headers, size), bodyOf(size).body.subarray(0, sent)])
    const connections = await openAll(port, count)
    uploads = connections.map((connection) => {
      const started = performance.now()
      const ended = connection
        .nextStatus()
        .then((status) => ({ status, milliseconds: performance.now() - started }))
      connection.write(bytes)
      return { connection, ended }
    })
  },

  /** @returns status and duration of each stalled upload */
  async ended() {
    const ends = await Promise.all(uploads.map(({ ended }) => ended))
    for (const { connection } of uploads) connection.close()
    return ends
  },

  /** Sends requests with pauses. @returns the milliseconds of each request */
  async steady({ port, size, connections, milliseconds, pause }) {
    const bytes = request(size)
    const until = performance.now() + milliseconds
    const times = []
    const sendAll = async () => {
      const connection = await open(port)
      while (performance.now() < until) {
        const response = connection.nextStatus()
        const started = performance.now()
        connection.write(bytes)
        const status = await response
        times.push(performance.now() - started)
        if (status !== 200) throw new Error(`the server returned ${status}`)
        await wait(pause)
      }
      connection.close()
    }
    await Promise.all(Array.from({ length: connections }, sendAll))
    return times
  },
}

process.on('message', async ({ task, ...options }) => process.send((await tasks[task](options)) ?? null))
process.on('disconnect', () => process.exit())
process.send('ready')
