import { LIMIT } from '../settings.mjs'
import { jsonBody, signedHeaders, toBytes, toChunkedParts } from './requests.mjs'

/** A body over the limit, of an otherwise correct delivery. */
function largeBody(client) {
  const body = jsonBody({ id: client.nextId(), padding: 2 * LIMIT })
  return { body, headers: signedHeaders(body) }
}

/** Sends an upload except for its end. Hosts that read bodies themselves do not respond to it. */
async function beginUpload(client) {
  const body = jsonBody({ id: client.nextId(), padding: 1_000 })
  const request = { path: client.path, headers: signedHeaders(body), length: Buffer.byteLength(body) }
  const connection = await client.connect()
  client.count()
  await connection.write(toBytes({ ...request, body: body.slice(0, 500) }))
  return connection
}

/** Uploads that are too large, slow, or incomplete. */
export const UPLOADS = {
  async 'too large by its length'(client) {
    const { body, headers } = largeBody(client)
    const bytes = toBytes({ path: client.path, headers, body })
    const connection = await client.connect()
    client.count()
    const response = connection.nextStatus()
    if (client.host.readsBody) await connection.write(bytes)
    else await connection.write(bytes.subarray(0, 1_000))
    client.expect('too large by its length', await response, 413)
    if (!client.host.readsBody) await connection.write(bytes.subarray(1_000))
    // If the response says so, the server closes the connection once it has read the rest.
    if (connection.closes) client.expect('too large by its length, end', await connection.closed, 'closed')
    connection.destroy()
  },

  async 'too large in chunks'(client) {
    const { body, headers } = largeBody(client)
    const chunks = [body.slice(0, LIMIT - 100), body.slice(LIMIT - 100)]
    const connection = await client.connect()
    client.count()
    const response = connection.nextStatus()
    for (const part of toChunkedParts({ path: client.path, headers, chunks })) await connection.write(part)
    client.expect('too large in chunks', await response, 413)
    connection.destroy()
  },

  async 'cut off'(client) {
    const connection = await beginUpload(client)
    connection.destroy()
  },

  async 'cut off after a refusal'(client) {
    if (client.host.readsBody) return UPLOADS['cut off'](client)
    const { body } = largeBody(client)
    const connection = await client.connect()
    const headers = { 'content-type': 'application/json', 'x-service': 'oops' }
    const bytes = toBytes({ path: client.path, headers, length: body.length, body: body.slice(0, 500) })
    client.expect('cut off after a refusal', await client.send(connection, bytes), 413)
    connection.destroy()
  },

  async 'cut off in the headers'(client) {
    const connection = await client.connect()
    client.count()
    await connection.write(`POST ${client.path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-serv`)
    connection.destroy()
  },
}

/** Waits for the timeout of a receiver, so there are few of these. */
export async function stall(client) {
  const connection = await beginUpload(client)
  if (!client.host.readsBody) client.expect('stalled', await connection.nextStatus(), 408)
  connection.destroy()
}
