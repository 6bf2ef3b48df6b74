import { FORM_TYPE, formBody, jsonBody, signedHeaders, toBytes, toChunkedParts } from './requests.mjs'

/** Sends a correct delivery on a connection, and checks that it is accepted. */
export async function deliver(client, connection, scene, { body, type, id }) {
  const bytes = toBytes({ path: client.path, headers: signedHeaders(body, type), body })
  const status = await client.send(connection, bytes)
  if (client.expect(scene, status, client.accepted)) client.acknowledge(id)
}

const one = (scene, toDelivery) => (client) =>
  client.reuse((connection) => {
    const id = client.nextId()
    return deliver(client, connection, scene, { id, ...toDelivery(id) })
  })

/** Senders that do everything right. */
export const HONEST = {
  JSON: one('JSON', (id) => ({ body: jsonBody({ id }) })),
  form: one('form', (id) => ({ body: formBody({ id }), type: FORM_TYPE })),
  'large JSON': one('large JSON', (id) => ({ body: jsonBody({ id, padding: 50_000 }) })),

  async 'chunked JSON'(client) {
    await client.reuse(async (connection) => {
      const id = client.nextId()
      const body = jsonBody({ id, padding: 2_000 })
      const parts = toChunkedParts({
        path: client.path,
        headers: signedHeaders(body),
        chunks: [body.slice(0, 10), body.slice(10, 1_500), body.slice(1_500)],
      })
      client.count()
      const response = connection.nextStatus()
      for (const part of parts) await connection.write(part)
      if (client.expect('chunked JSON', await response, client.accepted)) client.acknowledge(id)
    })
  },

  async 'second attempt'(client) {
    await client.reuse(async (connection) => {
      const id = client.nextId()
      const body = jsonBody({ id })
      await deliver(client, connection, 'second attempt', { body, id })
      const bytes = toBytes({ path: client.path, headers: signedHeaders(body), body })
      client.expect('second attempt', await client.send(connection, bytes), 200)
    })
  },

  async 'two attempts at once'(client) {
    const id = client.nextId()
    const body = jsonBody({ id })
    const bytes = toBytes({ path: client.path, headers: signedHeaders(body), body })
    const attempt = () => client.reuse((connection) => client.send(connection, bytes))
    const statuses = (await Promise.all([attempt(), attempt()])).sort((a, b) => a - b)
    const expected = client.hasInbox ? ['200,202'] : ['200,200', '200,409']
    if (client.expect('two attempts at once', statuses.join(), ...expected)) client.acknowledge(id)
  },

  async 'handler fails once'(client) {
    await client.reuse(async (connection) => {
      const id = client.nextId()
      const body = jsonBody({ id, failsOnce: true })
      if (client.hasInbox) return deliver(client, connection, 'handler fails once', { body, id })
      const request = { path: client.path, headers: signedHeaders(body), body }
      client.expect('handler fails', await client.send(connection, toBytes(request)), 500)
      const second = { ...request, headers: { ...request.headers, 'x-attempt': '2' } }
      const status = await client.send(connection, toBytes(second))
      if (client.expect('handler succeeds at the second attempt', status, 200)) client.acknowledge(id)
    })
  },
}
