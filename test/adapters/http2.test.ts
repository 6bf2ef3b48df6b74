import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2Server,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { arcgis, createReceiver, type Receiver, type ReceiverOptions } from 'geohook'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook as honoWebhook } from 'geohook/hono'
import { createMemoryDuplicates } from 'geohook/inbox'
import { webhook as koaWebhook } from 'geohook/koa'
import { webhook } from 'geohook/node'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { createRecorder } from '../helpers/recorder.ts'

type Serve = (receiver: Receiver) => Http2Server | Promise<Http2Server>

const serveNode: Serve = (receiver) => {
  const listener = webhook(receiver)
  return createServer((req, res) => void listener(req as never, res as never))
}

/** Starts a server with this receiver, and connects a client. */
async function open(receiver: Receiver, serve: Serve = serveNode): Promise<ClientHttp2Session> {
  const server = await serve(receiver)
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  // Raises the memory limit, because Node's client counts unsent data of ended streams and rejects responses above it.
  const session = connect(url, { maxSessionMemory: 1000 })
  onTestFinished(() => session.destroy())
  return session
}

const begin = (session: ClientHttp2Session, body: string, signature: string): ClientHttp2Stream =>
  session.request({
    ':method': 'POST',
    ':path': '/hook',
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    'x-service': signature,
  })

async function answerOf(stream: ClientHttp2Stream): Promise<[number, string]> {
  const [headers] = await once(stream, 'response')
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return [headers[':status'], text]
}

/** Opens many streams on one connection, so that a stream that never ends is noticed. */
it.each([10, 1_000, 300_000])(
  'responds to deliveries of %i bytes over HTTP/2, and ends their streams',
  async (size) => {
    const lengths: number[] = []
    const receiver = createReceiver({ signatureKey: KEY }).on('*', (_event, { rawBody }) =>
      lengths.push(rawBody.length),
    )
    const session = await open(receiver)
    const body = JSON.stringify({ events: [], more: 'x'.repeat(size) })
    const deliver = (signature: string) => answerOf(begin(session, body, signature).end(body))
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliver(signatureOf(body))))
    expect(answers).toEqual(answers.map(() => [200, '{"status":"handled"}']))
    expect(lengths).toEqual(answers.map(() => Buffer.byteLength(body)))
    expect((await deliver('0'.repeat(64)))[0]).toBe(401)
    await receiver.close()
    expect((await receiver.stats()).inFlight).toBe(0)
  },
)

it.each([
  ['a receiver with handlers', () => {}],
  ['middleware', undefined],
])('%s waits for the end of a stream, until bodyTimeout', async (_, handler) => {
  const receiver = createReceiver({ signatureKey: KEY, bodyTimeout: 50 })
  if (handler) receiver.on('*', handler)
  const session = await open(receiver)
  for (const size of [10, 300_000]) {
    const body = JSON.stringify({ events: [], more: 'x'.repeat(size) })
    const stream = begin(session, body, signatureOf(body))
    stream.write(body)
    expect([size, (await answerOf(stream))[0]]).toEqual([size, 408])
  }
})

it('reports body_aborted for a stream that is longer than its content-length', async () => {
  const recorder = createRecorder()
  const { observer, waitFor } = recorder
  const session = await open(createReceiver({ signatureKey: KEY, observer }).on('*', () => {}))
  const stream = begin(session, 'abc', '0'.repeat(64))
  stream.on('error', () => {})
  stream.end('abcdef')
  await waitFor('refused body_aborted')
  expect(recorder.lines).toEqual(['refused body_aborted'])
})

const SERVERS: Record<string, Serve> = {
  'node:http2': serveNode,
  Fastify: async (receiver) => {
    const app = fastify({ http2: true })
    app.register(fastifyWebhook(receiver), { prefix: '/hook' })
    await app.ready()
    return app.server
  },
  Koa: (receiver) => createServer(new Koa().use(koaWebhook(receiver)).callback() as never),
}

/** Each row is a request that is rejected before its body has ended: status, request headers, receiver options. */
const REFUSALS: [number, Record<string, string>, Partial<ReceiverOptions>?][] = [
  [401, {}],
  [401, { 'x-service': 'oops' }],
  [408, { 'x-service': signatureOf('{}') }, { bodyTimeout: 50 }],
  [413, { 'x-service': signatureOf('{}'), 'content-length': '5000000' }],
  [415, { 'content-encoding': 'gzip' }],
  [503, { 'x-service': signatureOf('{}') }, { signatureKey: () => Promise.reject(new Error('away')) }],
]

describe.each(Object.entries(SERVERS))('refused streams of %s', (_, serve) => {
  it.each(REFUSALS)(
    'end with their response, even if the client does not end them: %i %o',
    async (status, header, options) => {
      const { observer } = createRecorder()
      const receiver = createReceiver({ signatureKey: KEY, observer, ...options }).on('*', () => {})
      const session = await open(receiver, serve)
      const streams = Array.from({ length: 20 }, () =>
        session.request(
          { ':method': 'POST', ':path': '/hook', 'content-type': JSON_TYPE, ...header },
          { endStream: false },
        ),
      )
      const closed = Promise.all(streams.map((stream) => once(stream, 'close')))
      for (const stream of streams) stream.write('{')
      const answers = await Promise.all(streams.map(answerOf))
      expect(answers.map(([code]) => code)).toEqual(Array(20).fill(status))
      // `close()` resolves although the client has not ended its streams.
      await receiver.close()
      expect((await receiver.stats()).inFlight).toBe(0)
      for (const stream of streams) stream.end()
      await closed
      expect(streams.map(({ rstCode }) => rstCode)).toEqual(Array(20).fill(0))
    },
  )

  it('end while the client is sending, and the connection stays usable', async () => {
    const receiver = createReceiver({
      signatureKey: KEY,
      limit: '8mb',
      observer: createRecorder().observer,
    }).on('*', () => {})
    const session = await open(receiver, serve)
    for (let i = 0; i < 5; i++) {
      const stream = begin(session, 'x'.repeat(5_000_000), 'oops')
      stream.on('error', () => {})
      stream.end('x'.repeat(5_000_000))
      expect((await answerOf(stream))[0]).toBe(401)
      stream.destroy()
    }
    const body = JSON.stringify({ events: [], more: 'x'.repeat(300_000) })
    expect((await answerOf(begin(session, body, signatureOf(body)).end(body)))[0]).toBe(200)
    await receiver.close()
  })
})

it('returns 500 for a stream with setEncoding(), and ends it', async () => {
  const receiver = createReceiver({ signatureKey: KEY, observer: createRecorder().observer }).on(
    '*',
    () => {},
  )
  const listener = webhook(receiver)
  const session = await open(receiver, () =>
    createServer((req, res) => void listener(req.setEncoding('utf8') as never, res as never)),
  )
  const stream = begin(session, '{}', signatureOf('{}'))
  stream.write('{')
  expect((await answerOf(stream))[0]).toBe(500)
  await receiver.close()
})

it.each([
  ['before its body is read', 'oops', false],
  ['after its body is read', '0'.repeat(64), true],
])(
  'disconnects a client after five seconds that opens no window for its refusal, %s',
  async (_, signature, isWhole) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { observer, waitFor } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => {})
    const session = await open(receiver)
    session.settings({ initialWindowSize: 0 })
    await once(session, 'localSettings')
    const stream = begin(session, '{}', signature)
    const closed = once(
      stream.on('error', () => {}),
      'close',
    ).catch(() => {})
    if (isWhole) stream.end('{}')
    else stream.write('{')
    await once(stream, 'response')
    await waitFor(isWhole ? 'refused signature_mismatch' : 'refused signature_malformed')
    await vi.advanceTimersByTimeAsync(4_999)
    expect((await receiver.stats()).inFlight).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    await closed
    vi.useRealTimers()
    await receiver.close()
  },
)

it.each(['known', 'unknown'])(
  'after five seconds, disconnects a client that opens no window for the response to its handshake: %s tenant',
  async (tenant) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { observer, waitFor } = createRecorder()
    const signatureKey = ({ url }: { url: string }) => (url.startsWith('/known') ? KEY : undefined)
    const receiver = createReceiver({ signatureKey, profile: arcgis, observer }).on('*', () => {})
    const session = await open(receiver)
    session.settings({ initialWindowSize: 0 })
    await once(session, 'localSettings')
    const stream = session.request({ ':path': `/${tenant}?crc_token=abc` })
    const closed = once(
      stream.on('error', () => {}),
      'close',
    ).catch(() => {})
    await once(stream, 'response')
    await waitFor(tenant === 'known' ? 'handshake' : 'refused key_unknown')
    await vi.advanceTimersByTimeAsync(5_000)
    await closed
    vi.useRealTimers()
    await receiver.close()
  },
)

it('in Hono, a refused stream ends with its response', async () => {
  const { serve } = await import('@hono/node-server')
  const receiver = createReceiver({ signatureKey: KEY, observer: createRecorder().observer }).on(
    '*',
    () => {},
  )
  const { Request, Response } = globalThis
  onTestFinished(() => {
    for (const [name, value] of Object.entries({ Request, Response }))
      Object.defineProperty(globalThis, name, { value })
  })
  const app = new Hono().all('/hook', honoWebhook(receiver))
  const server = serve({ fetch: app.fetch, createServer, port: 0, hostname: '127.0.0.1' }) as Http2Server
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => session.destroy())
  const stream = begin(session, '{}', 'oops')
  const closed = once(stream, 'close')
  stream.write('{')
  expect((await answerOf(stream))[0]).toBe(401)
  stream.end()
  await closed
})

describe('a client that resets its stream while the next handler runs', () => {
  /** Sends a delivery and resets its stream. Returns the outcome, and the response to the retry. */
  async function resetDuring(serve: (receiver: Receiver, handle: () => Promise<void>) => ReturnType<Serve>) {
    const { observer, calls, waitFor } = createRecorder()
    const { gate, release } = createGate()
    const receiver = createReceiver({ signatureKey: KEY, observer, duplicates: createMemoryDuplicates() })
    const session = await open(receiver, () => serve(receiver, () => gate))
    const stream = begin(session, '{}', signatureOf('{}')).end('{}')
    await waitFor('accepted')
    stream.close(constants.NGHTTP2_CANCEL)
    await once(stream, 'close')
    // The server has seen the reset when it answers a ping that follows it.
    await new Promise((resolve) => session.ping(resolve))
    release()
    await expect.poll(() => calls.length, { timeout: 60_000 }).toBe(2)
    const retry = await answerOf(begin(session, '{}', signatureOf('{}')).end('{}'))
    return [calls[1]?.name, calls[1]?.outcome?.status, ...retry]
  }

  it('causes a failure in Fastify, and the retry is handled', async () => {
    const outcome = await resetDuring(async (receiver, handle) => {
      const app = fastify({ http2: true })
      app.register(fastifyWebhook(receiver), { prefix: '/hook', handler: () => handle().then(() => 'done') })
      await app.ready()
      return app.server
    })
    expect(outcome).toEqual(['failed', 500, 200, 'done'])
  })

  it('does not change the result of the next handler in Koa', async () => {
    const outcome = await resetDuring((receiver, handle) => {
      const app = new Koa().use(koaWebhook(receiver)).use(async (ctx) => {
        await handle()
        ctx.status = 202
      })
      return createServer(app.callback() as never)
    })
    expect(outcome).toEqual(['handled', 202, 200, '{"status":"duplicate"}'])
  })
})

it.each([
  ['with its whole body', '{}'],
  ['with a part of its body', '{'],
  ['without a body', ''],
])('reports body_aborted for a stream that was reset before geohook read it, %s', async (_, sent) => {
  const { observer, calls } = createRecorder()
  const listener = webhook(createReceiver({ signatureKey: KEY, observer }).on('*', () => {}))
  const session = await open(createReceiver({ signatureKey: KEY }), () =>
    createServer((req, res) => {
      req.stream.on('error', () => {}).once('close', () => void listener(req as never, res as never))
      stream.close(constants.NGHTTP2_CANCEL)
    }),
  )
  const stream = begin(session, '{}', signatureOf('{}')).on('error', () => {})
  if (sent === '{}') stream.end(sent)
  else stream.write(sent)
  await expect
    .poll(() => calls.map(({ name, code }) => [name, code]), { timeout: 60_000 })
    .toEqual([['refused', 'body_aborted']])
})
