import { deliver } from './honest.mjs'
import { JSON_TYPE, jsonBody, signedHeaders, toBytes } from './requests.mjs'

function honestRequest(client) {
  const id = client.nextId()
  const body = jsonBody({ id })
  return { id, bytes: toBytes({ path: client.path, headers: signedHeaders(body), body }) }
}

const forgedRequest = (client, signature) =>
  toBytes({
    path: client.path,
    headers: { 'content-type': JSON_TYPE, 'x-service': signature },
    body: jsonBody({ id: client.nextId() }),
  })

/** Several requests on one connection. */
export const CONNECTIONS = {
  async 'after refusals'(client) {
    await client.reuse(async (connection) => {
      for (const signature of ['oops', '0'.repeat(64)]) {
        client.expect('forged', await client.send(connection, forgedRequest(client, signature)), 401)
      }
      const id = client.nextId()
      await deliver(client, connection, 'after refusals', { id, body: jsonBody({ id }) })
    })
  },

  async pipelined(client) {
    await client.reuse(async (connection) => {
      const [first, last] = [honestRequest(client), honestRequest(client)]
      client.count(3)
      const responses = [connection.nextStatus(), connection.nextStatus(), connection.nextStatus()]
      await connection.write(Buffer.concat([first.bytes, forgedRequest(client, '0'.repeat(64)), last.bytes]))
      const [one, forged, two] = await Promise.all(responses)
      if (client.expect('pipelined, first', one, client.accepted)) client.acknowledge(first.id)
      client.expect('pipelined, forged', forged, 401)
      if (client.expect('pipelined, last', two, client.accepted)) client.acknowledge(last.id)
    })
  },

  async 'pipelined and cut off'(client) {
    const connection = await client.connect()
    client.count(3)
    const response = connection.nextStatus()
    const forged = forgedRequest(client, 'oops')
    await connection.write(Buffer.concat([forged, forged, forged.subarray(0, -10)]))
    client.expect('pipelined and cut off', await response, 401)
    connection.destroy()
  },

  async 'not HTTP'(client) {
    const connection = await client.connect()
    client.expect('not HTTP', await client.send(connection, 'hello\r\n\r\n'), 400)
    client.expect('not HTTP, end', await connection.closed, 'closed')
  },
}
