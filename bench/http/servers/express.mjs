import { createServer } from 'node:http'
import { createWebhookMiddleware } from '@hookflo/tern/express'
import { createNodeMiddleware } from '@octokit/webhooks'
import express from 'express'
import getRawBody from 'raw-body'
import Stripe from 'stripe'
import { webhook } from '../../../dist/express.js'
import { createReceiver } from '../../../dist/index.js'
import { webhook as nodeWebhook } from '../../../dist/node.js'
import { octokitWebhooks, QUIET } from './node.mjs'
import { isSigned } from './signed.mjs'

export function geohook({ key, handle }) {
  const app = express()
  app.post('/hook', webhook(createReceiver({ signatureKey: key }).on('*', handle)))
  return createServer(app)
}

/** geohook in front of the Express application: it handles the webhook route, and Express handles all others. */
export function ahead({ key, handle }) {
  const hook = nodeWebhook(createReceiver({ signatureKey: key }).on('*', handle))
  const app = express()
  return createServer((req, res) => (req.url === '/hook' ? hook(req, res) : app(req, res)))
}

/** The approach in the Express documentation and most answers on the web. */
export function json({ key, handle }) {
  const app = express()
  const keepBytes = (req, _res, bytes) => {
    req.rawBody = bytes
  }
  app.post('/hook', express.json({ verify: keepBytes, limit: '1mb' }), (req, res) => {
    if (!isSigned(req.rawBody, req.headers['x-service'], key)) return res.status(401).end()
    for (const event of req.body.events) handle(event)
    res.json({ status: 'handled' })
  })
  return createServer(app)
}

export function rawBody({ key, handle }) {
  const app = express()
  app.post('/hook', async (req, res) => {
    const body = await getRawBody(req, { length: req.headers['content-length'], limit: '1mb' })
    if (!isSigned(body, req.headers['x-service'], key)) return res.status(401).end()
    for (const event of JSON.parse(body).events) handle(event)
    res.json({ status: 'handled' })
  })
  return createServer(app)
}

export function octokit({ key, handle }) {
  const app = express()
  app.use(createNodeMiddleware(octokitWebhooks({ key, handle }), { path: '/hook', log: QUIET }))
  return createServer(app)
}

export function stripe({ key, handle }) {
  const { webhooks } = new Stripe('sk_test_bench')
  const app = express()
  app.post('/hook', express.raw({ type: 'application/json', limit: '1mb' }), (req, res) => {
    let payload
    try {
      payload = webhooks.constructEvent(req.body, req.headers['stripe-signature'], key)
    } catch {
      return res.status(400).end()
    }
    for (const event of payload.events) handle(event)
    res.json({ received: true })
  })
  return createServer(app)
}

export function tern({ key, handle }) {
  const app = express()
  app.post('/hook', createWebhookMiddleware({ platform: 'github', secret: key }), (req, res) => {
    for (const event of req.webhook.payload.events) handle(event)
    res.json({ received: true })
  })
  return createServer(app)
}
