import { createServer } from 'node:http'
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks'
import getRawBody from 'raw-body'
import { createReceiver } from '../../../dist/index.js'
import { webhook } from '../../../dist/node.js'
import { isSigned } from './signed.mjs'

const HANDLED = JSON.stringify({ status: 'handled' })
const HEADERS = { 'content-type': 'application/json', 'content-length': HANDLED.length }

/** Minimal hand-written code: the baseline of all other servers. */
export function bare({ key, handle }) {
  return createServer((req, res) => {
    const chunks = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', () => {
      const body = Buffer.concat(chunks)
      if (!isSigned(body, req.headers['x-service'], key)) return res.writeHead(401).end()
      for (const event of JSON.parse(body).events) handle(event)
      res.writeHead(200, HEADERS).end(HANDLED)
    })
  })
}

export function geohook({ key, handle }) {
  return createServer(webhook(createReceiver({ signatureKey: key }).on('*', handle)))
}

export function rawBody({ key, handle }) {
  return createServer(async (req, res) => {
    const body = await getRawBody(req, { length: req.headers['content-length'], limit: '1mb' })
    if (!isSigned(body, req.headers['x-service'], key)) return res.writeHead(401).end()
    for (const event of JSON.parse(body).events) handle(event)
    res.writeHead(200, HEADERS).end(HANDLED)
  })
}

export function octokit({ key, handle }) {
  return createServer(createNodeMiddleware(octokitWebhooks({ key, handle }), { path: '/hook', log: QUIET }))
}

/** Disables logging of the invalid requests that `check` sends. */
export const QUIET = { debug() {}, info() {}, warn() {}, error() {} }

export function octokitWebhooks({ key, handle }) {
  const webhooks = new Webhooks({ secret: key, log: QUIET })
  webhooks.onAny(({ payload }) => {
    for (const event of payload.events) handle(event)
  })
  return webhooks
}
