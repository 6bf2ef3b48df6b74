import { once } from 'node:events'
import { createServer, type Http2Server } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { serve as serveHono } from '@hono/node-server'
import fastify from 'fastify'
import { createReceiver, type Receiver, type ReceiverOptions } from 'geohook'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook as h3Webhook } from 'geohook/h3'
import { webhook as honoWebhook } from 'geohook/hono'
import { webhook as koaWebhook } from 'geohook/koa'
import { webhook as nodeWebhook } from 'geohook/node'
import { H3, toNodeHandler } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { dataFrame, frame, headersFrame, PING, preface, RST_STREAM } from '../helpers/http2-frames.ts'
import { quiet } from '../helpers/mounts/node.ts'
import { createRecorder } from '../helpers/recorder.ts'

await import('raw-body') // otherwise its import could take longer than seconds of fake time

/** HTTP/2 servers that respond themselves, or in which another handler responds. */
const SERVERS: Record<string, (receiver: Receiver) => Http2Server | Promise<Http2Server>> = {
  'node:http2': (receiver) => {
    const listener = nodeWebhook(receiver)
    return createServer((req, res) => void listener(req as never, res as never))
  },
  Koa: (receiver) => {
    const app = quiet(new Koa())
      .use(koaWebhook(receiver))
      .use((ctx) => void Object.assign(ctx, { body: 'next' }))
    return createServer(app.callback() as never)
  },
  Fastify: async (receiver) => {
    const app = fastify({ http2: true })
    app.register(fastifyWebhook(receiver), { prefix: '/hook', handler: async () => 'next' })
    await app.ready()
    return app.server
  },
  Hono: (receiver) =>
    listenHono(new Hono().post('/hook', honoWebhook(receiver), (c) => c.text('next')).fetch),
  'fetch (Hono server)': (receiver) => listenHono((request, env) => receiver.fetch(request, env)),
  h3: (receiver) => {
    const app = new H3({ silent: true }).post('/hook', () => 'next', { middleware: [h3Webhook(receiver)] })
    return createServer(toNodeHandler(app) as never)
  },
}

function listenHono(fetch: (request: Request, env: unknown) => Response | Promise<Response>): Http2Server {
  const { Request, Response } = globalThis
  onTestFinished(() => {
    for (const [name, value] of Object.entries({ Request, Response }))
      Object.defineProperty(globalThis, name, { value })
  })
  return serveHono({ fetch, createServer, port: 0, hostname: '127.0.0.1' }) as Http2Server
}

/** Starts a server, and counts its requests, open streams and open sessions. */
async function start(serve: (receiver: Receiver) => Http2Server | Promise<Http2Server>, receiver: Receiver) {
  const server = await serve(receiver)
  const open = { requests: 0, streams: 0, sessions: 0 }
  server.on('session', (session) => {
    open.sessions++
    session.once('close', () => open.sessions--)
  })
  server.on('stream', (stream) => {
    open.requests++
    open.streams++
    stream.once('close', () => open.streams--)
  })
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  /** Writes all frames at once, so that they arrive in one packet. */
  function send(...frames: Buffer[]): void {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
    onTestFinished(() => void socket.destroy())
    socket.resume().write(Buffer.concat([preface(), ...frames]))
  }
  return { open, send }
}

/** Advances the fake timers until the check passes. Returns the number of seconds. */
async function secondsUntil(check: () => boolean | Promise<boolean>): Promise<number> {
  let milliseconds = 0
  for (; !(await check()) && milliseconds < 60_000; milliseconds += 100) {
    await vi.advanceTimersByTimeAsync(100)
    for (let turn = 0; turn < 5; turn++) await setImmediate()
  }
  return milliseconds / 1_000
}

const headers = { 'content-type': JSON_TYPE, 'content-length': '2' }
const signed = { ...headers, 'x-service': signatureOf('{}') }

/** Requests on stream 1. */
const REQUESTS: Record<string, Buffer[]> = {
  delivery: [headersFrame(1, signed), dataFrame(1, '{}')],
  'refused delivery': [headersFrame(1, headers), dataFrame(1, '{}')],
  'refused upload': [headersFrame(1, headers), dataFrame(1, '{', false)],
  upload: [headersFrame(1, signed), dataFrame(1, '{', false)],
}

/** After these frames, Node alone keeps the stream open and, except after the last one, the session too. */
const ERRORS: Record<string, Buffer> = {
  'DATA on stream 0': dataFrame(0, 'x'),
  'DATA after END_STREAM': dataFrame(1, 'x'),
  'a PING of 3 bytes': frame(PING, 0, 0, 'abc'),
  'RST_STREAM with NO_ERROR': frame(RST_STREAM, 0, 1, new Uint8Array(4)),
}

describe.each(Object.entries(SERVERS))('in %s', (_, serve) => {
  it.each(Object.keys(ERRORS))(
    'requests end, and a failed session closes, if the sender also sends %s',
    async (error) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
      onTestFinished(() => void vi.useRealTimers())
      const options: ReceiverOptions = { signatureKey: KEY, observer: createRecorder().observer }
      for (const receiver of [createReceiver(options), createReceiver(options).on('*', () => {})]) {
        const { open, send } = await start(serve, receiver)
        const requests = Object.entries(REQUESTS)
          // DATA is an error only after the end of a stream.
          .filter(([name]) => !error.includes('END_STREAM') || name.includes('delivery'))
          .map(([, frames]) => frames)
        for (const request of requests) send(...request, ERRORS[error] as Buffer)
        while (open.requests < requests.length) await setImmediate()
        const sessions = error.startsWith('RST') ? requests.length : 0
        const isIdle = async () =>
          (await receiver.stats()).inFlight + open.streams === 0 && open.sessions === sessions
        // 10 seconds for the body, 5 for the response, and twice 5 for the session.
        expect(await secondsUntil(isIdle)).toBeLessThanOrEqual(25)
        const closed = vi.fn()
        void receiver.close().then(closed)
        await secondsUntil(() => closed.mock.calls.length > 0)
        expect(closed).toHaveBeenCalled()
      }
    },
  )
})

it('a session stays open while a handler runs, even if its client acknowledges no PING', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const receiver = createReceiver({ signatureKey: KEY }).on(
    '*',
    () => new Promise((resolve) => setTimeout(resolve, 30_000)),
  )
  const { open, send } = await start(SERVERS['node:http2'] as never, receiver)
  send(headersFrame(1, signed), dataFrame(1, '{}'))
  while (open.requests < 1) await setImmediate()
  expect(await secondsUntil(() => open.streams === 0)).toBeCloseTo(30, 0)
  expect(open.sessions).toBe(1)
  expect((await receiver.stats()).outcomes.handled).toBe(1)
})
