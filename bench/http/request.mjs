import { createHmac } from 'node:crypto'
import { KEY, signature } from '../lib/payloads.mjs'

/**
 * The headers of a delivery with signatures for all servers under test, so that every server reads the same headers.
 *
 * @param {Buffer} body
 * @returns {Record<string, string>}
 */
export function signedHeaders(body) {
  const seconds = Math.floor(Date.now() / 1000)
  const stripe = createHmac('sha256', KEY).update(`${seconds}.`).update(body).digest('hex')
  return {
    'content-type': 'application/json',
    'x-service': signature(body),
    'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    'x-github-event': 'push',
    'x-hub-signature-256': `sha256=${signature(body)}`,
    'stripe-signature': `t=${seconds},v1=${stripe}`,
  }
}

/** The bytes of a request head for a body of this length. */
export function requestHead(headers, length) {
  const fields = { host: '127.0.0.1', 'user-agent': 'bench', ...headers, 'content-length': length }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`POST /hook HTTP/1.1\r\n${lines.join('')}\r\n`)
}
