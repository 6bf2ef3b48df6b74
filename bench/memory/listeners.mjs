import { createHmac, timingSafeEqual } from 'node:crypto'
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks'
import getRawBody from 'raw-body'
import { createReceiver } from '../../dist/index.js'
import { webhook } from '../../dist/node.js'
import { KEY } from '../lib/payloads.mjs'

/**
 * Listeners for node:http that do not store deliveries.
 *
 * @typedef {object} Callbacks
 * @property {() => void} verdict called after the signature is verified and before the body is parsed
 * @property {() => void} handle called with the parsed payload
 */

/** The geohook receiver, with options for large bodies. */
export function geohook({ verdict, handle }, { limit, bodyTimeout }) {
  const observer = { refused: verdict } // also called for valid signatures, which come with an unsupported content type
  const maxInFlightBytes = '1gb' // the default is less than the sum of all uploads
  const options = { signatureKey: KEY, limit, bodyTimeout, maxInFlightBytes, observer }
  return webhook(createReceiver(options).on('*', handle))
}

/** Collects the chunks, then concatenates, hashes and parses them. */
export function byHand({ verdict, handle }) {
  return withBody(async (bytes, req) => {
    const digest = createHmac('sha256', KEY).update(bytes).digest()
    const given = Buffer.from(req.headers['x-service'] ?? '', 'hex')
    const isSigned = given.length === digest.length && timingSafeEqual(given, digest)
    verdict()
    if (!isSigned) return 401
    if (req.headers['content-type'] !== 'application/json') return 415
    handle(JSON.parse(bytes))
    return 200
  })
}

/** Reads the body with raw-body, and hashes each chunk as it arrives. */
export function rawBody({ verdict, handle }, { limit }) {
  return async (req, res) => {
    const hmac = createHmac('sha256', KEY)
    req.on('data', (chunk) => hmac.update(chunk))
    const bytes = await getRawBody(req, { limit, length: req.headers['content-length'] })
    const digest = hmac.digest()
    const given = Buffer.from(req.headers['x-service'] ?? '', 'hex')
    const isSigned = given.length === digest.length && timingSafeEqual(given, digest)
    verdict()
    if (!isSigned) return res.writeHead(401).end()
    if (req.headers['content-type'] !== 'application/json') return res.writeHead(415).end()
    handle(JSON.parse(bytes))
    return res.writeHead(200).end()
  }
}

/** Calls octokit's `verify` with the body as text, as documented for custom servers. */
export function octokitVerify({ verdict, handle }) {
  const webhooks = new Webhooks({ secret: KEY })
  return withBody(async (bytes, req) => {
    const text = bytes.toString()
    const isSigned = await webhooks.verify(text, req.headers['x-hub-signature-256'])
    verdict()
    if (!isSigned) return 401
    if (req.headers['content-type'] !== 'application/json') return 415
    handle(JSON.parse(text))
    return 200
  })
}

/** octokit's middleware. */
export function octokit({ handle }) {
  const webhooks = new Webhooks({ secret: KEY })
  webhooks.onAny(({ payload }) => handle(payload))
  return createNodeMiddleware(webhooks, { path: '/hook' })
}

function withBody(handle) {
  return (req, res) => {
    const chunks = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', async () => res.writeHead(await handle(Buffer.concat(chunks), req)).end())
  }
}
