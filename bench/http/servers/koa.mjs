import { createServer } from 'node:http'
import Koa from 'koa'
import getRawBody from 'raw-body'
import { createReceiver } from '../../../dist/index.js'
import { webhook } from '../../../dist/koa.js'
import { isSigned } from './signed.mjs'

export function geohook({ key, handle }) {
  const app = new Koa()
  app.use(webhook(createReceiver({ signatureKey: key }).on('*', handle)))
  return createServer(app.callback())
}

export function rawBody({ key, handle }) {
  const app = new Koa()
  app.use(async (ctx) => {
    const body = await getRawBody(ctx.req, { length: ctx.get('content-length'), limit: '1mb' })
    if (!isSigned(body, ctx.get('x-service'), key)) return ctx.throw(401)
    for (const event of JSON.parse(body).events) handle(event)
    ctx.body = { status: 'handled' }
  })
  return createServer(app.callback())
}
