import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { listen, type Mounted } from '../helpers/mounts/mounted.ts'

const body = '{"events":[{"eventType":"FeaturesCreated"}]}'
const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }

const open: Mounted[] = []
afterEach(async () => {
  for (const mounted of open.splice(0)) await mounted.close()
})

/** Opens one connection per number, and writes a request with `x-number` on each of them, all in the same tick. */
async function deliverTogether(url: string, numbers: readonly number[]): Promise<void> {
  const { hostname, port } = new URL(url)
  const sockets = numbers.map(() => connect(Number(port), hostname))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const answers = sockets.map((socket) => once(socket, 'data'))
  for (const [index, socket] of sockets.entries()) {
    const fields = { host: hostname, ...headers, 'content-length': body.length, 'x-number': numbers[index] }
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`POST / HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
  }
  for (const [answer] of await Promise.all(answers)) expect(String(answer)).toMatch(/^HTTP\/1.1 200 /)
  for (const socket of sockets) socket.destroy()
}

it('keeps the async context of each request that is handled in the same tick', async () => {
  const context = new AsyncLocalStorage<string>()
  const results: [context: string | undefined, header: unknown][] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', async (_event, delivery) => {
    await undefined
    results.push([context.getStore(), delivery.headers['x-number']])
  })
  const listener = webhook(receiver)
  const mounted = await listen(
    (req, res) => void context.run(String(req.headers['x-number']), () => void listener(req, res)),
  )
  open.push(mounted)
  const numbers = Array.from({ length: 50 }, (_, number) => number)
  await deliverTogether(mounted.url, numbers)
  expect(results.map(([, header]) => Number(header)).sort((a, b) => a - b)).toEqual(numbers)
  for (const [store, header] of results) expect(store).toBe(header)
})

it('handles requests while a test uses fake timers', async () => {
  const mounted = await listen(webhook(createReceiver({ signatureKey: KEY }).on('*', () => {})))
  open.push(mounted)
  vi.useFakeTimers({ toFake: ['setImmediate', 'setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  expect((await send(mounted.url, { headers, body })).status).toBe(200)
})

it('emits end and close on a request that is rejected in the middle of its body', async () => {
  const events: Promise<unknown>[] = []
  const listener = webhook(createReceiver({ signatureKey: KEY, limit: 10 }).on('*', () => {}))
  const mounted = await listen((req, res) => {
    events.push(once(req, 'end'), once(req, 'close'))
    void listener(req, res)
  })
  open.push(mounted)
  const { hostname, port } = new URL(mounted.url)
  const socket = connect(Number(port), hostname)
  const fields = { host: hostname, ...headers, 'transfer-encoding': 'chunked' }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const chunks = `6\r\n${body.slice(0, 6)}\r\n5\r\n${body.slice(6, 11)}\r\n0\r\n\r\n`
  socket.write(`POST / HTTP/1.1\r\n${lines.join('')}\r\n${chunks}`)
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1.1 413 /)
  await Promise.all(events)
  socket.destroy()
})

it('does not consume the bytes that other listeners of the request receive', async () => {
  const tapped: Buffer[] = []
  const listener = webhook(createReceiver({ signatureKey: KEY }).on('*', () => {}))
  const mounted = await listen(async (req, res) => {
    await undefined
    void listener(req, res)
    req.on('data', (chunk: Buffer) => tapped.push(chunk))
  })
  open.push(mounted)
  await deliverTogether(mounted.url, [1])
  expect(Buffer.concat(tapped).toString()).toBe(body)
})

it('handles a request that arrived before close() in the same tick', async () => {
  const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
  const response = receiver.fetch(new Request('https://a.example/', { method: 'POST', headers, body }))
  for (let step = 0; step < 5; step++) await undefined
  await receiver.close()
  expect((await response).status).toBe(200)
})

it('fetch() starts to read each body at the end of the event loop tick', async () => {
  const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
  for (let count = 0; count < 2; count++) {
    const order: string[] = []
    setImmediate(() => order.push('tick'))
    const stream = new ReadableStream(
      {
        pull(controller) {
          order.push('read')
          controller.enqueue(Buffer.from(body))
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    const announced = { ...headers, 'content-length': String(body.length) }
    const init = { method: 'POST', headers: announced, body: stream, duplex: 'half' } as RequestInit
    expect((await receiver.fetch(new Request('https://a.example/', init))).status).toBe(200)
    expect(order).toEqual(['tick', 'read'])
  }
})

it.each([
  [body.length, 1],
  [body.length - 1, 0],
])(
  'fetch() reads a body in one piece only if Node has all of it: %i bytes',
  async (readableLength, reads) => {
    const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
    const announced = { ...headers, 'content-length': String(body.length) }
    const request = new Request('https://a.example/', { method: 'POST', headers: announced, body })
    const arrayBuffer = vi.spyOn(request, 'arrayBuffer')
    expect((await receiver.fetch(request, { incoming: { readableLength } })).status).toBe(200)
    expect(arrayBuffer).toHaveBeenCalledTimes(reads)
  },
)

it('close() waits for a request as soon as its listener is called', async () => {
  const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
  const listener = webhook(receiver)
  const order: string[] = []
  let inFlight: Promise<number> | undefined
  const mounted = await listen((req, res) => {
    void listener(req, res)
    inFlight = receiver.stats().then((stats) => stats.inFlight)
    res.once('finish', () => order.push('responded'))
    void receiver.close().then(() => order.push('closed'))
  })
  open.push(mounted)
  await send(mounted.url, { headers, body })
  await receiver.close()
  expect(order).toEqual(['responded', 'closed'])
  expect(await inFlight).toBe(1)
})
