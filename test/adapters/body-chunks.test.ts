import { type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import fastify from 'fastify'
import { createReceiver } from 'geohook'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook } from 'geohook/node'
import { expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { answerOf } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { warningsOf } from '../helpers/warnings.ts'

const cases: [string, announced: number | undefined, sizes: number[], isAccepted: boolean][] = [
  ['as announced', 120_000, [40_000, 40_000, 40_000], true],
  ['as announced, with a separate last byte', 120_001, [40_000, 40_000, 40_000, 1], true],
  ['not announced', undefined, [40_000, 40_000, 40_000], true],
  ['fewer than announced', 200_000, [40_000, 40_000, 40_000], false],
  ['more than announced', 100_000, [40_000, 40_000, 40_000], false],
  ['more than announced, in the first chunk', 70_000, [80_000, 40_000], false],
  ['few, and more than announced', 10, [8, 8, 8], false],
]
// Node's HTTP parser never produces the last four cases, but `inject()` can.
it.each(cases)(
  'accepts exactly the announced number of bytes: %s',
  async (_, announced, sizes, isAccepted) => {
    const bodies: Buffer[] = []
    const receiver = createReceiver({ signatureKey: KEY, observer: { refused() {} } })
    receiver.on('*', (_event, { rawBody }) => bodies.push(Buffer.from(rawBody)))
    const length = sizes.reduce((sum, size) => sum + size, 0)
    // Every chunk has different bytes, so that the comparison below detects swapped chunks.
    const text = Array.from({ length }, (_, index) => index).join('')
    const body = Buffer.from(`["${text.slice(0, length - 4)}"]`)
    expect(body.length).toBe(length)
    const ends = sizes.map((_, index) => sizes.slice(0, index + 1).reduce((sum, size) => sum + size))
    const payload = Readable.from(ends.map((end, index) => body.subarray(ends[index - 1] ?? 0, end)))
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }
    const app = fastify()
    app.register(fastifyWebhook(receiver), { prefix: '/hook' })
    const answer = await app.inject({
      method: 'POST',
      url: '/hook',
      headers: { ...headers, ...(announced === undefined ? {} : { 'content-length': String(announced) }) },
      payload,
    })
    await app.close()
    if (isAccepted) {
      expect([answer.statusCode, bodies.length]).toEqual([200, 1])
      expect(bodies[0]?.equals(body)).toBe(true)
    } else {
      expect([answer.json().code, bodies.length]).toEqual(['body_aborted', 0])
    }
  },
)

it('reports body_aborted if the request closes before its body has ended', async () => {
  const { observer, waitFor } = createRecorder()
  const app = fastify()
  app.addHook('onRequest', async ({ raw }) => {
    raw.on('newListener', (event) => {
      if (event === 'data') void setImmediate().then(() => raw.destroy())
    })
  })
  app.register(fastifyWebhook(createReceiver({ signatureKey: KEY, observer })), { prefix: '/hook' })
  const headers = { 'content-type': JSON_TYPE, 'x-service': '0'.repeat(64) }
  const payload = new Readable({ read() {} })
  payload.push('{')
  app.inject({ method: 'POST', url: '/hook', headers, payload }).catch(() => {})
  await waitFor('refused body_aborted')
  await app.close()
})

it("passes on no bytes of Node's shared buffer pool if a body arrives in two segments before it is read", async () => {
  const buffers: ArrayBufferLike[] = []
  const receiver = createReceiver({ signatureKey: KEY })
  receiver.on('*', (_event, { rawBody }) => buffers.push(rawBody.buffer))
  const hook = webhook(receiver)
  const mounted = await listen(async (req, res) => {
    while (req.readableLength < 1) await setImmediate()
    upload.end('}')
    while (req.readableLength < 2) await setImmediate()
    void hook(req, res)
  })
  onTestFinished(() => mounted.close())
  const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}'), 'content-length': 2 }
  const upload = request(mounted.url, { method: 'POST', headers, agent: false })
  const answer = answerOf(upload)
  upload.write('{')
  expect((await answer).status).toBe(200)
  expect(buffers.map(({ byteLength }) => byteLength)).toEqual([2])
})

it('allocates no memory for a content-length before the bytes arrive', async () => {
  const reading = createGate()
  const arrived = createGate()
  const receiver = createReceiver({ signatureKey: KEY, limit: '1gb', observer: { refused() {} } })
  const hook = webhook(receiver.on('*', () => {}))
  const mounted = await listen(async (req, res) => {
    void hook(req, res)
    while (req.listenerCount('data') === 0) await setImmediate()
    let length = 0
    req.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length === 60_000) arrived.release()
    })
    reading.release()
  })
  onTestFinished(() => mounted.close())
  const before = process.memoryUsage().arrayBuffers
  const headers = { 'content-type': JSON_TYPE, 'x-service': '0'.repeat(64), 'content-length': 2 ** 30 }
  const req = request(mounted.url, { method: 'POST', headers, agent: false }).on('error', () => {})
  req.flushHeaders()
  await reading.gate
  req.write('x'.repeat(60_000))
  await arrived.gate
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 2 ** 20)
  req.destroy()
  await receiver.close()
})

it('loses no chunks to other listeners while it loads raw-body for the first body', async () => {
  const loading = createGate()
  vi.resetModules()
  vi.doMock('raw-body', async (importOriginal) => {
    await loading.gate
    return importOriginal()
  })
  onTestFinished(() => {
    vi.doUnmock('raw-body')
    vi.resetModules()
  })
  const node = await import('geohook/node')
  const hook = node.webhook(createReceiver({ signatureKey: KEY }).on('*', () => {}))
  let incoming: IncomingMessage | undefined
  let length = 0
  const mounted = await listen((req, res) => {
    void hook(req, res)
    incoming = req.on('data', (chunk: Buffer) => (length += chunk.length))
  })
  onTestFinished(() => mounted.close())
  const body = '{"events":[]}'
  const headers = {
    'content-type': JSON_TYPE,
    'x-service': signatureOf(body),
    'content-length': body.length,
  }
  const req = request(mounted.url, { method: 'POST', headers, agent: false })
  const answer = answerOf(req)
  req.flushHeaders()
  while (!incoming) await setImmediate()
  req.write(body.slice(0, 5))
  while (length + incoming.readableLength < 5) await setImmediate()
  loading.release()
  req.end(body.slice(5))
  expect((await answer).status).toBe(200)
  expect(length).toBe(body.length)
})

it('returns 500 if other code calls setEncoding() while the body is read', async () => {
  const encoded = createGate()
  const hook = webhook(createReceiver({ signatureKey: KEY, observer: { refused() {} } }).on('*', () => {}))
  const mounted = await listen(async (req, res) => {
    void hook(req, res)
    while (req.listenerCount('data') === 0) await setImmediate()
    req.setEncoding('utf8')
    encoded.release()
  })
  onTestFinished(() => mounted.close())
  const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}'), 'content-length': 2 }
  const warnings = await warningsOf(async () => {
    const req = request(mounted.url, { method: 'POST', headers, agent: false })
    const answer = answerOf(req)
    req.flushHeaders()
    await encoded.gate
    req.end('{}')
    expect((await answer).status).toBe(500)
  })
  expect(warnings).toEqual([expect.stringContaining('setEncoding')])
})
