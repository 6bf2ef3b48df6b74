import { createHmac, timingSafeEqual } from 'node:crypto'
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks'
import { createReceiver } from '../../dist/index.js'
import { webhook } from '../../dist/node.js'
import { KEY } from '../lib/payloads.mjs'

/**
 * Listeners for node:http that keep nothing of a delivery.
 *
 * @typedef {object} Tell
 * @property {() => void} verdict is called when it is known whether the signature is right, and nothing is parsed yet
 * @property {() => void} handle is called with what was parsed
 */

/** With the options that a large body needs. */
export function geohook({ verdict, handle }, { limit, bodyTimeout }) {
  const observer = { refused: verdict } // of a body that is signed, for its content type: that comes next
  const maxInFlightBytes = '1gb' // the default is less than all uploads together
  const options = { signatureKey: KEY, limit, bodyTimeout, maxInFlightBytes, observer }
  return webhook(createReceiver(options).on('*', handle))
}

/** Kept in pieces, put together, hashed, parsed. */
export function byHand({ verdict, handle }) {
  return whole(async (bytes, req) => {
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

/** As in octokit's documentation for a server of one's own: its `verify` takes a text. */
export function octokitVerify({ verdict, handle }) {
  const webhooks = new Webhooks({ secret: KEY })
  return whole(async (bytes, req) => {
    const text = bytes.toString()
    const isSigned = await webhooks.verify(text, req.headers['x-hub-signature-256'])
    verdict()
    if (!isSigned) return 401
    if (req.headers['content-type'] !== 'application/json') return 415
    handle(JSON.parse(text))
    return 200
  })
}

/** Its middleware, which does all of it. */
export function octokit({ handle }) {
  const webhooks = new Webhooks({ secret: KEY })
  webhooks.onAny(({ payload }) => handle(payload))
  return createNodeMiddleware(webhooks, { path: '/hook' })
}

function whole(answer) {
  return (req, res) => {
    const chunks = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', async () => res.writeHead(await answer(Buffer.concat(chunks), req)).end())
  }
}
