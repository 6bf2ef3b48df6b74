import { once } from 'node:events'
import { createReceiver } from 'geohook'
import { expect, it } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createRecorder } from '../helpers/recorder.ts'

const post = (body: BodyInit | null, signature = signatureOf('{}')): Request =>
  new Request('http://a.example/hook', {
    method: 'POST',
    headers: { 'content-type': JSON_TYPE, 'x-service': signature },
    body,
    duplex: 'half',
  } as RequestInit)

it('a body that stalls is given up and its stream is cancelled', async () => {
  const cancelled = new EventTarget()
  const stalled = new ReadableStream({ cancel: () => void cancelled.dispatchEvent(new Event('cancel')) })
  const heard = once(cancelled, 'cancel')
  const receiver = createReceiver({ signatureKey: KEY, bodyTimeout: 20, observer: {} })
  expect((await receiver.fetch(post(stalled))).status).toBe(408)
  await heard
})

it('a body without end is given up at the limit and its stream is cancelled', async () => {
  const cancelled = new EventTarget()
  const heard = once(cancelled, 'cancel')
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(1000)),
    cancel: () => void cancelled.dispatchEvent(new Event('cancel')),
  })
  const receiver = createReceiver({ signatureKey: KEY, limit: 10_000, observer: {} })
  expect((await receiver.fetch(post(endless))).status).toBe(413)
  await heard
})

it('a stream that fails is body_aborted', async () => {
  const { observer, seen } = createRecorder()
  const failing = new ReadableStream({ pull: () => Promise.reject(new Error('reset')) })
  await createReceiver({ signatureKey: KEY, observer }).fetch(post(failing))
  expect(seen.map(({ code }) => code)).toEqual(['body_aborted'])
})

it('a request without a body has an empty one', async () => {
  const { observer, seen } = createRecorder()
  const response = await createReceiver({ signatureKey: KEY, observer }).fetch(post(null, signatureOf('')))
  expect([response.status, seen.map(({ code }) => code)]).toEqual([400, ['payload_malformed']])
})

it.each<[string, unknown]>([
  ['at once', { params: { tenant: 'lyon' } }],
  ['as a promise, as Next.js gives them', { params: Promise.resolve({ tenant: 'lyon' }) }],
])('route parameters reach the key function: %s', async (_, context) => {
  const receiver = createReceiver({ signatureKey: ({ params }) => params?.tenant as string })
  expect((await receiver.fetch(post('{}', signatureOf('{}', 'lyon')), context)).status).toBe(200)
})

it.each([undefined, null, 'env', 7, {}, { params: 'x' }, { params: null }, { DB: {} }])(
  'what else a platform hands over is left alone: %j',
  async (context) => {
    expect((await createReceiver({ signatureKey: KEY }).fetch(post('{}'), context)).status).toBe(200)
  },
)

it.each<[string, (request: Request) => unknown]>([
  ['read', (request) => request.text()],
  ['locked', (request) => request.body?.getReader()],
  ['teed', (request) => request.body?.tee()],
])('a body that somebody has %s is body_already_parsed', async (_, use) => {
  const { observer, seen } = createRecorder()
  const request = post('{}')
  await use(request)
  const response = await createReceiver({ signatureKey: KEY, observer }).fetch(request)
  expect([response.status, seen[0]?.code]).toEqual([500, 'body_already_parsed'])
})

it('fetch can be handed on without its receiver', async () => {
  const { fetch } = createReceiver({ signatureKey: KEY })
  expect((await fetch(post('{}'))).status).toBe(200)
})
