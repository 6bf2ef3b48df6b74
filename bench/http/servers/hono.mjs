// Users call `serve()` of this package, which also calls `createAdaptorServer`.
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { webhook } from '../../../dist/hono.js'
import { createReceiver } from '../../../dist/index.js'
import { isSigned } from './signed.mjs'

export function geohookFetch({ key, handle }) {
  return createAdaptorServer({ fetch: createReceiver({ signatureKey: key }).on('*', handle).fetch })
}

export function geohook({ key, handle }) {
  const app = new Hono()
  app.post('/hook', webhook(createReceiver({ signatureKey: key }).on('*', handle)))
  return createAdaptorServer({ fetch: app.fetch })
}

export function byHand({ key, handle }) {
  const app = new Hono()
  app.post('/hook', async (c) => {
    const body = Buffer.from(await c.req.arrayBuffer())
    if (!isSigned(body, c.req.header('x-service'), key)) return c.body(null, 401)
    for (const event of JSON.parse(body).events) handle(event)
    return c.json({ status: 'handled' })
  })
  return createAdaptorServer({ fetch: app.fetch })
}

export function fetchByHand({ key, handle }) {
  return createAdaptorServer({
    async fetch(request) {
      const body = Buffer.from(await request.arrayBuffer())
      if (!isSigned(body, request.headers.get('x-service'), key)) return new Response(null, { status: 401 })
      for (const event of JSON.parse(body).events) handle(event)
      return Response.json({ status: 'handled' })
    },
  })
}
