import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { createRecorder, type Recorder } from '../helpers/recorder.ts'

type Expose = (req: IncomingMessage, res: ServerResponse) => { members?: object; context?: object }

it.each<[string, Expose, boolean]>([
  [
    'in the context, as @hono/node-server does',
    (incoming, outgoing) => ({ context: { incoming, outgoing } }),
    true,
  ],
  ['in the request, as srvx does', (req, res) => ({ members: { runtime: { node: { req, res } } } }), true],
  ['without its response', (incoming) => ({ context: { incoming } }), false],
  ['without its request', (_, outgoing) => ({ context: { outgoing } }), false],
  ['as an unknown object', (_, outgoing) => ({ context: { incoming: { resume: 'x' }, outgoing } }), false],
  ['not at all', () => ({}), false],
])(
  "fetch() drains a refused request if its server exposes Node's request %s",
  async (_, expose, isDrained) => {
    const cancelled = createGate()
    const cancel = vi.fn(cancelled.release)
    const drained = createGate()
    const receiver = createReceiver({ signatureKey: KEY, observer: { refused() {} } })
    const server = await listen(async (req, res) => {
      req.once('end', drained.release)
      const init = { method: 'POST', body: new ReadableStream({ cancel }), duplex: 'half' } as RequestInit
      const { members, context } = expose(req, res)
      const request = Object.assign(new Request('http://a.example', init), members)
      const { status } = await receiver.fetch(request, context)
      await (isDrained ? drained.gate : cancelled.gate)
      res.writeHead(status).end()
    })
    onTestFinished(() => server.close())
    expect((await send(server.url, { chunks: ['{', '}'] })).status).toBe(401)
    expect(cancel.mock.calls.length).toBe(isDrained ? 0 : 1)
  },
)

it('leaves no timer once a refused request has ended', async () => {
  const receiver = createReceiver({ signatureKey: KEY, observer: { refused() {} } }).on('*', () => {})
  const closed = createGate()
  const hook = webhook(receiver)
  const server = await listen((req, res) => {
    req.once('close', closed.release)
    void hook(req, res)
  })
  onTestFinished(() => server.close())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  const head = `POST /hook HTTP/1.1\r\nhost: a\r\ncontent-type: ${JSON_TYPE}\r\nx-service: oops\r\n`
  socket.write(`${head}content-length: 2\r\n\r\n{`)
  const [response] = await once(socket, 'data')
  expect(String(response)).toMatch(/^HTTP\/1.1 401 /)
  expect(vi.getTimerCount()).toBe(1)
  socket.write('}')
  await closed.gate
  expect(vi.getTimerCount()).toBe(0)
})

it('leaves no timer if the client disconnects during its body', async () => {
  const recorder = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer: recorder.observer })
  const begun = createGate()
  const hook = webhook(receiver)
  const server = await listen((req, res) => {
    void hook(req, res)
    begun.release()
  })
  onTestFinished(() => server.close())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  socket.write(`POST /hook HTTP/1.1\r\nhost: a\r\nx-service: ${'0'.repeat(64)}\r\ncontent-length: 2\r\n\r\n{`)
  await begun.gate
  socket.destroy()
  await recorder.waitFor('refused body_aborted')
  while ((await receiver.stats()).inFlight > 0) await setImmediate()
  expect(vi.getTimerCount()).toBe(0)
})

it('discards the rest of a refused request if another listener pauses it', async () => {
  const hook = webhook(createReceiver({ signatureKey: KEY, observer: { refused() {} } }))
  const ended = createGate()
  const server = await listen((req, res) => {
    req.once('end', ended.release).on('data', () => void req.pause())
    void hook(req, res)
  })
  onTestFinished(() => server.close())
  const headers = { 'content-type': JSON_TYPE, 'x-service': 'oops' }
  const chunks = ['x'.repeat(100_000), 'x'.repeat(100_000)]
  expect((await send(server.url, { headers, chunks })).status).toBe(401)
  await ended.gate
})

it('closes the connection after a refusal if other code has read the body', async () => {
  const hook = webhook(createReceiver({ signatureKey: KEY, observer: { refused() {} } }).on('*', () => {}))
  const { url, close } = await listen(async (req, res) => {
    for await (const _ of req);
    void hook(req, res)
  })
  onTestFinished(close)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(
    `POST /hook HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: ${JSON_TYPE}\r\nx-service: ${signatureOf('{}')}\r\ncontent-length: 2\r\n\r\n{}`,
  )
  let text = ''
  for await (const part of socket.setEncoding('utf8')) text += part
  expect(text).toMatch(/^HTTP\/1.1 500 /)
})

const HEAD = `POST /hook HTTP/1.1\r\nhost: a\r\ncontent-type: ${JSON_TYPE}\r\n`

/**
 * Fakes the timers, and sends the headers of a chunked request, which are refused. `answers` returns the status lines
 * received so far.
 */
async function refuseChunked(
  limit: number | string = '1mb',
): Promise<{ socket: Socket; answers(): string[]; recorder: Recorder }> {
  const recorder = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, limit, observer: recorder.observer }).on('*', () => {})
  const { url, close } = await listen(webhook(receiver))
  onTestFinished(close)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (part) => (text += part))
  const answers = (): string[] => text.match(/HTTP\/1.1 \d+/g) ?? []
  socket.write(`${HEAD}x-service: oops\r\ntransfer-encoding: chunked\r\n\r\n`)
  while (answers().length < 1) await setImmediate()
  return { socket, answers, recorder }
}

it.each<[limit: number | string, length: number]>([
  [1000, 2 ** 20],
  ['2mb', 2 ** 21],
])(
  'with a limit of %s, ends the connection after the remaining %i bytes of a refused request',
  async (limit, length) => {
    const { socket, answers, recorder } = await refuseChunked(limit)
    const ended = once(socket, 'end')
    socket.write(`${length.toString(16)}\r\n${'x'.repeat(length)}\r\n0\r\n\r\n`)
    await ended
    expect([answers(), recorder.lines]).toEqual([['HTTP/1.1 401'], ['refused signature_malformed']])
  },
)

it('disconnects a client that sends another request after more bytes than are discarded', async () => {
  const { socket, recorder } = await refuseChunked()
  // Resetting a connection with unread bytes causes an error in the client.
  const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve))
  const length = 2 ** 23 // the end must not arrive together with the byte that exceeds the limit
  socket.write(`${length.toString(16)}\r\n${'x'.repeat(length)}\r\n0\r\n\r\n`)
  socket.write(`${HEAD}x-service: ${signatureOf('{}')}\r\ncontent-length: 2\r\n\r\n{}`)
  while (vi.getTimerCount() < 2) await setImmediate() // the limit is exceeded
  vi.advanceTimersByTime(1_000)
  await closed
  expect(recorder.lines.filter((line) => !line.startsWith('refused '))).toEqual([])
})

it.each([
  ['content-length: 1200', 'x'.repeat(1200)],
  ['transfer-encoding: chunked', `4b0\r\n${'x'.repeat(1200)}\r\n0\r\n\r\n`],
])('answers a delivery that has arrived behind a body that is too large, with %s', async (framing, body) => {
  const receiver = createReceiver({ signatureKey: KEY, limit: 1000, observer: { refused() {} } }).on(
    '*',
    () => {},
  )
  const { url, close } = await listen(webhook(receiver))
  onTestFinished(close)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const delivery = `${HEAD}x-service: ${signatureOf('{}')}\r\n`
  socket.write(
    `${delivery}${framing}\r\n\r\n${body}${delivery}connection: close\r\ncontent-length: 2\r\n\r\n{}`,
  )
  expect((await text(socket)).match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
  expect((await receiver.stats()).outcomes.handled).toBe(1)
})
