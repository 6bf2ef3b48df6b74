import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { KEY, LIMIT } from './settings.mjs'

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

const sign = (body, encoding = 'hex') => createHmac('sha256', KEY).update(body).digest(encoding)

/**
 * The body of a delivery.
 *
 * @param {{ id: string, failsOnce?: boolean, padding?: number }} soak `failsOnce`: the handler fails at the first
 *   attempt; `padding` in bytes
 */
function jsonBody({ id, failsOnce = false, padding = 0 }) {
  return JSON.stringify({
    serviceName: 'Parcels',
    serviceType: 'FeatureServer',
    events: [{ eventType: 'FeaturesCreated', when: 1730385704000, soak: { id, failsOnce } }],
    padding: 'x'.repeat(padding),
  })
}

const formBody = (soak) => `payload=${encodeURIComponent(jsonBody(soak))}`

/** The headers of a correct delivery. */
const signedHeaders = (body, type = JSON_TYPE) => ({ 'content-type': type, 'x-service': sign(body) })

/**
 * The bytes of a request.
 *
 * @param {{ method?: string, path: string, headers?: object, body?: string | Uint8Array, length?: number }} request
 *   `length`: the content-length, by default the length of the body
 */
function toBytes({ method = 'POST', path, headers = {}, body = '', length = Buffer.byteLength(body) }) {
  return Buffer.concat([
    head({ method, path, headers: method === 'POST' ? { ...headers, 'content-length': length } : headers }),
    Buffer.from(body),
  ])
}

/**
 * The parts of a request with a chunked body.
 *
 * @param {{ path: string, headers?: object, chunks: readonly (string | Uint8Array)[] }} request
 */
function toChunkedParts({ path, headers, chunks }) {
  const parts = chunks.map((chunk) =>
    Buffer.concat([
      Buffer.from(`${Buffer.byteLength(chunk).toString(16)}\r\n`),
      Buffer.from(chunk),
      Buffer.from('\r\n'),
    ]),
  )
  const start = head({ method: 'POST', path, headers: { ...headers, 'transfer-encoding': 'chunked' } })
  return [start, ...parts, Buffer.from('0\r\n\r\n')]
}

function head({ method, path, headers }) {
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
}

/** Sends a correct delivery on a connection, and checks that it is accepted. */
async function deliver(client, connection, scene, { body, type, id }) {
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

/** Sends one complete request whose headers or body are wrong, and checks the status. */
const refused = (scene, status, toRequest) => (client) =>
  client.reuse(async (connection) => {
    const body = jsonBody({ id: client.nextId() })
    const request = { path: client.path, body, ...toRequest(body) }
    const isHead = request.method === 'HEAD'
    client.expect(scene, await client.send(connection, toBytes(request), { hasBody: !isHead }), status)
  })

const method = (name) => refused(name, 405, () => ({ method: name, body: '' }))

const compressed = (body) => {
  const bytes = gzipSync(body)
  return { headers: { ...signedHeaders(bytes), 'content-encoding': 'gzip' }, body: bytes }
}

const withSignature = (signature) => () => ({
  headers: { 'content-type': JSON_TYPE, 'x-service': signature },
})

const signed = (body, type) => ({ headers: signedHeaders(body, type), body })

/** Complete requests that receivers reject. */
export const REFUSED = {
  'no signature': refused('no signature', 401, () => ({ headers: { 'content-type': JSON_TYPE } })),
  'malformed signature': refused('malformed signature', 401, withSignature('sha256=oops')),
  'wrong signature': refused('wrong signature', 401, withSignature('0'.repeat(64))),
  'changed body': refused('changed body', 401, (body) => ({
    headers: { 'content-type': JSON_TYPE, 'x-service': sign(`${body} `) },
  })),
  'wrong media type': refused('wrong media type', 415, (body) => signed(body, 'text/plain')),
  'incomplete JSON': refused('incomplete JSON', 400, (body) => signed(body.slice(0, -3))),
  compressed: refused('compressed', 415, compressed),
  GET: method('GET'),
  HEAD: method('HEAD'),
  PUT: method('PUT'),
  DELETE: method('DELETE'),
}

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
