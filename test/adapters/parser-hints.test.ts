import type { IncomingMessage, RequestListener } from 'node:http'
import fastify from 'fastify'
import { createReceiver, type Receiver } from 'geohook'
import { webhook as azure } from 'geohook/azure'
import { webhook as express } from 'geohook/express'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook as h3 } from 'geohook/h3'
import { webhook as hono } from 'geohook/hono'
import { webhook as koa } from 'geohook/koa'
import { webhook as node } from 'geohook/node'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { quiet } from '../helpers/mounts/node.ts'
import { createRecorder } from '../helpers/recorder.ts'

const signed = {
  method: 'POST',
  headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') },
  body: '{}',
}

async function read(req: IncomingMessage): Promise<void> {
  for await (const _ of req);
}

/** For each adapter: creates a server that reads the body and sets `members` on the request, as a parser would. */
const SERVERS: Record<
  string,
  (receiver: Receiver, members: object) => RequestListener | Promise<RequestListener>
> = {
  express: (receiver, members) => async (req, res) => {
    await read(req)
    await express(receiver)(Object.assign(req, members), res)
  },
  node: (receiver, members) => async (req, res) => {
    await read(req)
    await node(receiver)(Object.assign(req, members), res)
  },
  koa: (receiver, members) =>
    quiet(new Koa())
      .use(async (ctx, next) => {
        await read(ctx.req)
        Object.assign(ctx.request, members)
        await next()
      })
      .use(koa(receiver))
      .callback(),
  fastify: async (receiver, members) => {
    const app = fastify()
    app.addHook('onRequest', async ({ raw }) => void Object.assign(raw, members, await read(raw)))
    app.register(fastifyWebhook(receiver), { prefix: '/hook' })
    await app.ready()
    onTestFinished(() => app.close())
    return app.routing as RequestListener
  },
}

/**
 * For each adapter: the parser that the error message names if a parser has set `req.body` to a string (`text`) or to an
 * object (`value`), and parts of the error's hint.
 */
const NAMES: Record<string, [text: string, value: string, hints: string[]]> = {
  express: [
    'express.text()',
    'express.json() or express.urlencoded()',
    ['Mount geohook before app.use(express.json())', 'keep the bytes', '{ rawBody: true }'],
  ],
  node: ['express.text()', 'express.json() or express.urlencoded()', ['req.rawBody']],
  koa: ['koa-bodyparser', 'koa-bodyparser', ['before app.use(bodyParser())', 'bytes can']],
  fastify: ['a hook', 'a hook', ['onRequest hooks']],
}

describe.each(Object.entries(NAMES))('%s, after a parser', (name, [text, value, hints]) => {
  it.each<[string, object, string]>([
    ['a text', { body: '{}' }, `a text parser, such as ${text}, read the body before geohook`],
    ['a value', { body: {} }, `a body parser, such as ${value}, read the body before geohook`],
    ['a mark', { _body: true }, `a body parser, such as ${value}, read the body before geohook`],
    ['null', { body: null }, 'something read the body before geohook'],
    ['nothing', {}, 'something read the body before geohook'],
  ])('that leaves %s, reports the parser', async (_, members, message) => {
    const { observer, calls } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => {})
    const server = await listen((await SERVERS[name]?.(receiver, members)) as RequestListener)
    onTestFinished(() => server.close())
    expect((await send(server.url, signed)).status).toBe(500)
    const { error } = calls[0] ?? {}
    expect([error?.code, error?.message]).toEqual(['body_already_parsed', message])
    for (const hint of hints) expect(error?.hint).toContain(hint)
  })
})

it('reports setEncoding() on the request', async () => {
  const { observer, calls } = createRecorder()
  const hook = node(createReceiver({ signatureKey: KEY, observer }).on('*', () => {}))
  const server = await listen((req, res) => void hook(req.setEncoding('utf8') as IncomingMessage, res))
  onTestFinished(() => server.close())
  for (const sent of [signed, { ...signed, body: undefined, chunks: ['{', '}'] }])
    expect((await send(server.url, sent as typeof signed)).status).toBe(500)
  for (const { error } of calls) {
    expect(error?.message).toContain('setEncoding() was called on the request')
    expect(error?.hint).toContain('Remove the call')
  }
  expect(calls.length).toBe(2)
})

const WEB: Record<string, [(receiver: Receiver, req: Request) => unknown, string[]]> = {
  azure: [(receiver, req) => azure(receiver)(req as never), ['request.json()']],
  h3: [(receiver, req) => h3(receiver)({ req, res: {}, context: {} }), ['event.req.json()']],
  hono: [
    (receiver, req) => new Hono().post('/', hono(receiver)).fetch(req),
    ['validators', 'c.req.arrayBuffer()'],
  ],
}

it.each(Object.entries(WEB))('%s reports which calls must come later', async (_, [handle, hints]) => {
  const { observer, calls } = createRecorder()
  const req = new Request('http://a.example/', signed)
  await req.text()
  await handle(
    createReceiver({ signatureKey: KEY, observer }).on('*', () => {}),
    req,
  )
  expect(calls[0]?.code).toBe('body_already_parsed')
  for (const hint of hints) expect(calls[0]?.error?.hint).toContain(hint)
})
