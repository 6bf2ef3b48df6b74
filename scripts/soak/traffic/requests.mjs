import { createHmac } from 'node:crypto'
import { KEY } from '../settings.mjs'

export const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

export const sign = (body, encoding = 'hex') => createHmac('sha256', KEY).update(body).digest(encoding)

/**
 * The body of a delivery.
 *
 * @param {{ id: string, failsOnce?: boolean, padding?: number }} soak `failsOnce`: the handler fails at the first
 *   attempt; `padding` in bytes
 */
export function jsonBody({ id, failsOnce = false, padding = 0 }) {
  return JSON.stringify({
    serviceName: 'Parcels',
    serviceType: 'FeatureServer',
    events: [{ eventType: 'FeaturesCreated', when: 1730385704000, soak: { id, failsOnce } }],
    padding: 'x'.repeat(padding),
  })
}

export const formBody = (soak) => `payload=${encodeURIComponent(jsonBody(soak))}`

/** The headers of a correct delivery. */
export const signedHeaders = (body, type = JSON_TYPE) => ({ 'content-type': type, 'x-service': sign(body) })

/**
 * The bytes of a request.
 *
 * @param {{ method?: string, path: string, headers?: object, body?: string | Uint8Array, length?: number }} request
 *   `length`: the content-length, by default the length of the body
 */
export function toBytes({
  method = 'POST',
  path,
  headers = {},
  body = '',
  length = Buffer.byteLength(body),
}) {
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
export function toChunkedParts({ path, headers, chunks }) {
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
