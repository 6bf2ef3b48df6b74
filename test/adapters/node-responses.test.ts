import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createReceiver } from 'geohook'
import { webhook as middleware } from 'geohook/express'
import { webhook as koaWebhook } from 'geohook/koa'
import { webhook } from 'geohook/node'
import Koa from 'koa'
import { expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { begin, send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { quiet } from '../helpers/mounts/node.ts'
import { createRecorder } from '../helpers/recorder.ts'

const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') }
const signed = { headers, body: '{}' }

it.each([
  ['no length', undefined],
  ['a length of 0', 0],
])('an empty body with %s is reported as malformed, not as already parsed', async (_, length) => {
  const recorder = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer: recorder.observer })
  const server = await listen(webhook(receiver))
  onTestFinished(() => server.close())
  const empty = { ...headers, 'x-service': signatureOf('') }
  const sent =
    length === undefined ? { headers: empty, chunks: [] } : { headers: { ...empty, 'content-length': 0 } }
  expect((await send(server.url, sent)).status).toBe(400)
  expect(recorder.lines).toEqual(['refused payload_malformed'])
})

it('returns 500 if the next function throws', async () => {
  const recorder = createRecorder()
  const hook = middleware({ signatureKey: KEY, observer: recorder.observer })
  const next = () => {
    throw new Error('no route')
  }
  const server = await listen((req, res) => void hook(req, res, next))
  onTestFinished(() => server.close())
  const { status, text } = await send(server.url, signed)
  expect([status, JSON.parse(text).code, recorder.lines]).toEqual([
    500,
    'handler_failed',
    ['accepted', 'failed handler_failed'],
  ])
})

it.each([
  ['as a failure', true, 'failed handler_failed'],
  ['as a success', false, 'handled'],
])(
  'sends the complete response that a handler has ended, and reports the outcome %s',
  async (_, fails, line) => {
    const recorder = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, observer: recorder.observer })
    const server = await listen((req, res) => {
      receiver.on('*', () => {
        res.writeHead(200).end('x'.repeat(10_000_000))
        if (fails) throw new Error('too late')
      })
      void webhook(receiver)(req, res)
    })
    onTestFinished(() => server.close())
    const { status, text } = await send(server.url, signed)
    expect([status, text.length]).toEqual([200, 10_000_000])
    await recorder.waitFor(line)
  },
)

it('close() waits until a large response is sent', async () => {
  const receiver = createReceiver({ signatureKey: KEY })
  const order: string[] = []
  const hook = middleware(receiver)
  const server = await listen((req, res) => {
    res.once('finish', () => order.push('sent'))
    void hook(req, res, () => {
      void receiver.close().then(() => order.push('closed'))
      res.end('x'.repeat(10_000_000))
    })
  })
  onTestFinished(() => server.close())
  await send(server.url, signed)
  await vi.waitFor(() => expect(order.length).toBe(2), { timeout: 60_000 })
  expect(order).toEqual(['sent', 'closed'])
})

it('in Koa, close() waits until a large response is sent', async () => {
  const receiver = createReceiver({ signatureKey: KEY })
  const order: string[] = []
  const app = quiet(new Koa())
    .use(koaWebhook(receiver))
    .use((ctx) => {
      ctx.res.once('finish', () => order.push('sent'))
      void receiver.close().then(() => order.push('closed'))
      ctx.body = 'x'.repeat(10_000_000)
    })
  const server = await listen(app.callback())
  onTestFinished(() => server.close())
  await send(server.url, signed)
  await vi.waitFor(() => expect(order.length).toBe(2), { timeout: 60_000 })
  expect(order).toEqual(['sent', 'closed'])
})

it('does not replace an earlier response', async () => {
  const recorder = createRecorder()
  const hook = middleware({ signatureKey: KEY, observer: recorder.observer })
  const server = await listen(async (req, res) => {
    await once(res.end('early'), 'finish')
    await hook(Object.assign(req, { rawBody: Buffer.from(signed.body) }), res, () => {})
  })
  onTestFinished(() => server.close())
  expect(await send(server.url, signed)).toMatchObject({ status: 200, text: 'early' })
  await recorder.waitFor('handled')
})

it('sets content-length', async () => {
  const server = await listen(webhook(createReceiver({ signatureKey: KEY }).on('*', () => {})))
  onTestFinished(() => server.close())
  const { headers, text } = await send(server.url, signed)
  expect([headers['content-length'], headers['transfer-encoding']]).toEqual([String(text.length), undefined])
})

it('reports body_already_parsed if other code has read a part of the body', async () => {
  const { observer, calls } = createRecorder()
  const hook = webhook(createReceiver({ signatureKey: KEY, observer }).on('*', () => {}))
  const started = createGate()
  const server = await listen(async (req, res) => {
    await once(req, 'readable')
    expect(String(req.read())).toBe('{')
    started.release()
    void hook(req, res)
  })
  onTestFinished(() => server.close())
  const req = begin(server.url, { ...headers, 'content-length': 2 }, '{')
  const response = once(req, 'response')
  await started.gate
  req.end('}')
  const [res] = (await response) as [IncomingMessage]
  expect([res.statusCode, calls[0]?.code]).toEqual([500, 'body_already_parsed'])
  res.resume()
})

it('reports body_aborted with its cause if the client disconnects', async () => {
  const { observer, calls, waitFor } = createRecorder()
  const keyLookup = createGate()
  const signatureKey = () => {
    keyLookup.release()
    return KEY
  }
  const server = await listen(webhook(createReceiver({ signatureKey, observer }).on('*', () => {})))
  onTestFinished(() => server.close())
  const req = begin(server.url, { ...headers, 'content-length': 2 }, '{').on('error', () => {})
  await keyLookup.gate
  req.destroy()
  await waitFor('refused body_aborted')
  expect(calls[0]?.error?.cause).toMatchObject({ code: 'ECONNRESET' })
})
