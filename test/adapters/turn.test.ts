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

/** As many connections as there are numbers, each with one request in `x-number`; all are written in one turn. */
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

it('requests that are worked on in one turn keep the context that each has come in', async () => {
  const context = new AsyncLocalStorage<string>()
  const seen: [own: string | undefined, sent: unknown][] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', async (_event, delivery) => {
    await undefined
    seen.push([context.getStore(), delivery.headers['x-number']])
  })
  const listener = webhook(receiver)
  const mounted = await listen(
    (req, res) => void context.run(String(req.headers['x-number']), () => void listener(req, res)),
  )
  open.push(mounted)
  const numbers = Array.from({ length: 50 }, (_, number) => number)
  await deliverTogether(mounted.url, numbers)
  expect(seen.map(([, sent]) => Number(sent)).sort((a, b) => a - b)).toEqual(numbers)
  for (const [own, sent] of seen) expect(own).toBe(sent)
})

it('timers that a test has put in place of the real ones do not hold a request back', async () => {
  const mounted = await listen(webhook(createReceiver({ signatureKey: KEY }).on('*', () => {})))
  open.push(mounted)
  vi.useFakeTimers({ toFake: ['setImmediate', 'setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  expect((await send(mounted.url, { headers, body })).status).toBe(200)
})

it('a request that is refused in the middle of its body ends and closes, for whoever listens', async () => {
  const told: Promise<unknown>[] = []
  const listener = webhook(createReceiver({ signatureKey: KEY, limit: 10 }).on('*', () => {}))
  const mounted = await listen((req, res) => {
    told.push(once(req, 'end'), once(req, 'close'))
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
  await Promise.all(told)
  socket.destroy()
})

it('what reads the request behind it gets the bytes too, and keeps none from it', async () => {
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

it('what has come before close() is handled, also in the same turn', async () => {
  const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
  const answered = receiver.fetch(new Request('https://a.example/', { method: 'POST', headers, body }))
  for (let step = 0; step < 5; step++) await undefined
  await receiver.close()
  expect((await answered).status).toBe(200)
})

it('what has come is waited for by close(), from its first moment', async () => {
  const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
  const listener = webhook(receiver)
  const order: string[] = []
  const mounted = await listen((req, res) => {
    void listener(req, res)
    expect(receiver.stats().atWork).toBe(1)
    res.once('finish', () => order.push('answered'))
    void receiver.close().then(() => order.push('closed'))
  })
  open.push(mounted)
  await send(mounted.url, { headers, body })
  await receiver.close()
  expect(order).toEqual(['answered', 'closed'])
})
