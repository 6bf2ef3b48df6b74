import { gzipSync } from 'node:zlib'
import { JSON_TYPE, jsonBody, sign, signedHeaders, toBytes } from './requests.mjs'

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
