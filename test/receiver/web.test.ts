import { once } from 'node:events'
import { createReceiver, type ReceiverOptions } from 'geohook'
import { expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { createRecorder } from '../helpers/recorder.ts'

const post = (body: BodyInit | null, signature = signatureOf('{}')): Request =>
  new Request('http://a.example/hook', {
    method: 'POST',
    headers: { 'content-type': JSON_TYPE, 'x-service': signature },
    body,
    duplex: 'half',
  } as RequestInit)

/** Creates a body that reports when it is cancelled, and whose cancellation never finishes. */
function createBody(): { body: ReadableStream; cancelled: Promise<void> } {
  const { gate: cancelled, release } = createGate()
  const cancel = (): Promise<void> => {
    release()
    return new Promise(() => {})
  }
  return { body: new ReadableStream({ cancel }), cancelled }
}

it('returns 408 for a body that stalls, and cancels its stream', async () => {
  const cancelled = new EventTarget()
  const stalled = new ReadableStream({ cancel: () => void cancelled.dispatchEvent(new Event('cancel')) })
  const cancelEvent = once(cancelled, 'cancel')
  const receiver = createReceiver({ signatureKey: KEY, bodyTimeout: 20, observer: {} })
  expect((await receiver.fetch(post(stalled))).status).toBe(408)
  await cancelEvent
})

it('returns 413 for an endless body, and cancels its stream', async () => {
  const cancelled = new EventTarget()
  const cancelEvent = once(cancelled, 'cancel')
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(1000)),
    cancel: () => void cancelled.dispatchEvent(new Event('cancel')),
  })
  const receiver = createReceiver({ signatureKey: KEY, limit: 10_000, observer: {} })
  expect((await receiver.fetch(post(endless))).status).toBe(413)
  await cancelEvent
})

it('stops reading at the limit if a transfer-encoding overrides a small content-length', async () => {
  let pulls = 0
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(new Uint8Array(1000))
      if (++pulls === 100) controller.close()
    },
  })
  const request = post(body)
  request.headers.set('content-length', '5')
  request.headers.set('transfer-encoding', 'chunked')
  const receiver = createReceiver({ signatureKey: KEY, limit: 10_000, observer: {} })
  expect((await receiver.fetch(request)).status).toBe(413)
  expect(pulls).toBeLessThan(20)
})

it.each<[string, number, Record<string, string>, ReceiverOptions?]>([
  ['without a signature', 401, { 'x-service': '' }],
  ['with a malformed signature', 401, { 'x-service': 'oops' }],
  ['that is compressed', 415, { 'content-encoding': 'gzip' }],
  ['with a content-length over the limit', 413, { 'content-length': '5000000' }],
  ['whose key lookup fails', 503, {}, { signatureKey: () => Promise.reject(new Error('away')) }],
])('cancels the body of a request %s, without waiting', async (_, status, headers, options) => {
  const receiver = createReceiver({ signatureKey: KEY, observer: {}, ...options })
  const { body, cancelled } = createBody()
  const request = post(body)
  for (const [name, value] of Object.entries(headers)) request.headers.set(name, value)
  expect((await receiver.fetch(request)).status).toBe(status)
  await cancelled
})

it('cancels the body of a request after close()', async () => {
  const receiver = createReceiver({ signatureKey: KEY, observer: {} })
  await receiver.close()
  const { body, cancelled } = createBody()
  expect((await receiver.fetch(post(body))).status).toBe(503)
  await cancelled
})

it('does not touch the body of a refused request if its stream is locked', async () => {
  const request = post('{}', 'oops')
  const reader = request.body?.getReader()
  expect((await createReceiver({ signatureKey: KEY, observer: {} }).fetch(request)).status).toBe(401)
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('{}')
})

it('reports body_aborted for a stream that fails', async () => {
  const { observer, calls } = createRecorder()
  const failing = new ReadableStream({ pull: () => Promise.reject(new Error('reset')) })
  await createReceiver({ signatureKey: KEY, observer }).fetch(post(failing))
  expect(calls.map(({ code }) => code)).toEqual(['body_aborted'])
})

it('refuses a chunk without a length, and still counts the bytes in flight', async () => {
  const { observer, calls } = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer, limit: 10, maxInFlightBytes: 10 })
  const sendChunk = (chunk: unknown) =>
    receiver.fetch(post(new ReadableStream({ start: (sender) => sender.enqueue(chunk) })))
  for (const chunk of [new ArrayBuffer(3), new Uint8Array(11)]) await sendChunk(chunk)
  expect(calls.map(({ code }) => code)).toEqual(['body_too_large', 'body_too_large'])
  const { status } = await receiver.fetch(post('{}', signatureOf('{}')))
  expect(status).toBe(200)
})

it('treats a missing body as an empty one', async () => {
  const { observer, calls } = createRecorder()
  const response = await createReceiver({ signatureKey: KEY, observer }).fetch(post(null, signatureOf('')))
  expect([response.status, calls.map(({ code }) => code)]).toEqual([400, ['payload_malformed']])
})

it.each<[string, unknown]>([
  ['as an object', { params: { tenant: 'lyon' } }],
  ['as a promise, like in Next.js', { params: Promise.resolve({ tenant: 'lyon' }) }],
])('passes route parameters to the key function: %s', async (_, context) => {
  const receiver = createReceiver({ signatureKey: ({ params }) => params?.tenant as string })
  expect((await receiver.fetch(post('{}', signatureOf('{}', 'lyon')), context)).status).toBe(200)
})

it.each([
  undefined,
  null,
  'env',
  7,
  {},
  { params: 'x' },
  { params: null },
  { DB: {} },
  { incoming: {}, outgoing: {} },
])('ignores other context of a platform: %j', async (context) => {
  const signatureKey: ReceiverOptions['signatureKey'] = ({ params }) => (params === undefined ? KEY : null)
  expect((await createReceiver({ signatureKey, observer: {} }).fetch(post('{}'), context)).status).toBe(200)
})

it('refuses a request although its context looks like that of a server on Node', async () => {
  const rejections: unknown[] = []
  const listener = (reason: unknown) => rejections.push(reason)
  process.on('unhandledRejection', listener)
  onTestFinished(() => void process.off('unhandledRejection', listener))
  const receiver = createReceiver({ signatureKey: KEY, observer: { refused() {} } })
  const context = { incoming: { resume() {} }, outgoing: {} }
  expect((await receiver.fetch(post('{}', 'oops'), context)).status).toBe(401)
  await new Promise((resolve) => setImmediate(resolve))
  expect(rejections).toEqual([])
})

it('ignores route parameters whose getter throws', async () => {
  const context = {
    get params(): unknown {
      throw new Error('not the framework')
    },
  }
  const receiver = createReceiver({
    signatureKey: ({ params }) => (params === undefined ? KEY : null),
    observer: {},
  })
  expect((await receiver.fetch(post('{}'), context)).status).toBe(200)
})

it('ignores route parameters whose promise rejects', async () => {
  const context = { params: Promise.reject(new Error('not the framework')) }
  const receiver = createReceiver({
    signatureKey: ({ params }) => (params === undefined ? KEY : null),
    observer: {},
  })
  expect((await receiver.fetch(post('{}'), context)).status).toBe(200)
})

it.each<[string, (request: Request) => unknown]>([
  ['read', (request) => request.text()],
  ['locked', (request) => request.body?.getReader()],
  ['teed', (request) => request.body?.tee()],
])('reports body_already_parsed for a body that was %s before', async (_, use) => {
  const { observer, calls } = createRecorder()
  const request = post('{}')
  await use(request)
  const response = await createReceiver({ signatureKey: KEY, observer }).fetch(request)
  expect([response.status, calls[0]?.code]).toEqual([500, 'body_already_parsed'])
})

it('close() resolves only after the caller of fetch() could write the response', async () => {
  const order: string[] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
  const written = receiver.fetch(post('{}')).then(async () => {
    for (let step = 0; step < 20; step++) await undefined
    order.push('written')
  })
  await Promise.all([written, receiver.close().then(() => order.push('closed'))])
  expect(order).toEqual(['written', 'closed'])
})

it('fetch works as a detached function', async () => {
  const { fetch } = createReceiver({ signatureKey: KEY })
  expect((await fetch(post('{}'))).status).toBe(200)
})
