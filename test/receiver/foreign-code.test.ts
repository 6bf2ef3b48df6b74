import { runInNewContext } from 'node:vm'
import { createReceiver, type Outcome } from 'geohook'
import { describe, expect, it } from 'vitest'
import { deliver, JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { type ReceiverRequest, receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'

const body = payloadOf('FeaturesCreated')
const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }

/** Creates a request as an adapter does. */
const requestOf = (next: ReceiverRequest['next']): ReceiverRequest => ({
  method: 'POST',
  url: '/hook',
  headers,
  async read({ onChunk }) {
    const bytes = Buffer.from(body)
    onChunk(bytes)
    return bytes
  },
  ...(next && { next }),
})

describe('next()', () => {
  it.each([
    { name: 'WebhookError', message: 'not ours' },
    { name: 'WebhookError', code: 'parcel 4711 is gone', status: 422, message: 'not ours' },
    { name: 'WebhookError', code: 'method_not_allowed', status: 405, message: 'not ours' },
  ])('can throw an error that looks like a WebhookError: %j', async (members) => {
    const recorder = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, observer: recorder.observer })
    const thrown = Object.assign(new Error(), members)
    const outcome = await receiverPort(receiver).receive(requestOf(() => Promise.reject(thrown)))
    expect([outcome.status, outcome.kind]).toEqual([500, 'failed'])
    expect(recorder.lines).toEqual(['accepted', 'failed handler_failed'])
    expect(recorder.calls.at(-1)?.error?.cause).toBe(thrown)
    expect(await receiver.stats()).toMatchObject({ outcomes: { failed: 1 }, inFlight: 0 })
  })
})

describe('an observer', () => {
  it('cannot change the response', async () => {
    const tamper = ({ outcome }: { outcome: Outcome }): void => {
      outcome.status = 200
      outcome.body = 'changed'
      outcome.headers['www-authenticate'] = 'changed'
    }
    const receiver = createReceiver({ signatureKey: KEY, observer: { refused: tamper } })
    const response = await receiver.fetch(new Request('http://a.example', { method: 'POST', body }))
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'HMAC-SHA256'])
    expect(await response.text()).not.toBe('changed')
  })

  it('cannot read the body before it is verified', async () => {
    const requests: object[] = []
    const observer = { around: ({ request }: { request: object }) => requests.push(request) }
    await deliver(createReceiver({ signatureKey: KEY, observer }), body)
    expect(Object.keys(requests[0] ?? {})).toEqual(['method', 'url', 'headers', 'params', 'remoteAddress'])
  })

  it('can return a rejected promise of another realm', async () => {
    const rejections: unknown[] = []
    const listener = (reason: unknown): number => rejections.push(reason)
    process.on('unhandledRejection', listener)
    const observer = { accepted: () => runInNewContext('Promise.reject(1)') as unknown }
    expect((await deliver(createReceiver({ signatureKey: KEY, observer }), body)).status).toBe(200)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', listener)
    expect(rejections).toEqual([])
  })

  it.each<[string, (outcome: Outcome) => unknown]>([
    ['changes', (outcome) => Object.assign(outcome, { status: 200, body: 'changed' })],
    ['freezes', Object.freeze],
  ])('that %s the outcome of run() does not affect the response', async (_, change) => {
    const receiver = createReceiver({
      signatureKey: KEY,
      observer: { around: async ({ run }) => change(await run()), refused() {} },
    })
    void receiver.close() // so that the receiver sets `close` on the outcome
    const outcome = await receiverPort(receiver).receive({
      method: 'POST',
      url: '/',
      headers: {},
      read: () => new Uint8Array(),
    })
    expect([outcome.status, outcome.close, JSON.parse(outcome.body).code]).toEqual([
      503,
      true,
      'receiver_closed',
    ])
  })

  it('that calls run() recursively does not repeat the work', async () => {
    let runAgain: (() => unknown) | undefined
    let runs = 0
    const receiver = createReceiver({
      observer: {
        around({ run }) {
          runAgain = run
          run()
        },
      },
      signatureKey() {
        runAgain?.()
        return KEY
      },
    }).on('*', () => ++runs)
    await deliver(receiver, body)
    expect([runs, (await receiver.stats()).outcomes.handled]).toEqual([1, 1])
  })
})

it('counts a request as in flight while its key is looked up, and close() waits for it', async () => {
  const order: string[] = []
  const receiver = createReceiver({
    async signatureKey() {
      order.push(`in flight: ${(await receiver.stats()).inFlight}`)
      void receiver.close().then(() => order.push('closed'))
      return KEY
    },
  }).on('*', () => order.push('handled'))
  await deliver(receiver, body)
  await receiver.close()
  expect(order).toEqual(['in flight: 1', 'handled', 'closed'])
})

it('close() waits for the requests in flight, but not for later ones', async () => {
  const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
  const { gate, release } = createGate()
  const later = createGate()
  const earlier = receiverPort(receiver).receive(requestOf(undefined), () => gate)
  const order: string[] = []
  const closings = [receiver.close(), receiver.close()].map((closing) =>
    closing.then(() => order.push('closed')),
  )
  // This request never finishes, because its client does not read the response.
  void receiverPort(receiver).receive(requestOf(undefined), ({ status }) => {
    order.push(String(status))
    later.release()
    return new Promise(() => {})
  })
  await later.gate
  release()
  order.push((await earlier).kind)
  await Promise.all([...closings, receiver.close()])
  expect(order).toEqual(['503', 'refused', 'closed', 'closed'])
})

it.each<[string, () => unknown]>([
  ['that reject', () => Promise.reject(new Error('no route'))],
  ['that are a string', () => 'lyon'],
])('ignores route parameters %s', async (_, params) => {
  const calls: unknown[] = []
  const receiver = createReceiver({
    signatureKey(request) {
      calls.push(request.params)
      return KEY
    },
  })
  const request = new Request('http://a.example/hook', { method: 'POST', headers, body })
  expect((await receiver.fetch(request, { params: params() })).status).toBe(200)
  expect(calls).toEqual([undefined])
})
