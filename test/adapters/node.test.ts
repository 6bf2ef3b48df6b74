import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { finished } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { createReceiver, type Receiver } from 'geohook'
import { webhook as middleware } from 'geohook/express'
import { webhook } from 'geohook/node'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { answerOf, begin, send } from '../helpers/http.ts'
import { listen, type Mounted } from '../helpers/mounts/mounted.ts'
import { receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { warningsOf } from '../helpers/warnings.ts'

type Mode = (
  receiver: Receiver,
  gate: Promise<void>,
) => (req: IncomingMessage, res: ServerResponse) => unknown

const open: Mounted[] = []
afterEach(async () => {
  for (const mounted of open.splice(0)) await mounted.close()
})

async function mount(prepare: (req: IncomingMessage) => void = () => {}) {
  const recorder = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer: recorder.observer, limit: 1000 }).on(
    '*',
    () => {},
  )
  const listener = webhook(receiver)
  const mounted = await listen((req, res) => {
    prepare(req)
    void listener(req, res)
  })
  open.push(mounted)
  return { url: mounted.url, recorder }
}

it.each([
  ['before its body is read', 'x-service: oops'],
  ['while its body is read', `x-service: ${'0'.repeat(64)}`],
])(
  'disconnects a client that keeps sending after it was refused %s, once it could read the response',
  async (_, header) => {
    const { url } = await mount()
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(
      `POST /hook HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: ${JSON_TYPE}\r\n${header}\r\ntransfer-encoding: chunked\r\n\r\n`,
    )
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    socket.write(chunk)
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1.1 4(01|13) /)
    let sent = 0
    const flood = (): void => {
      while (!socket.destroyed && socket.write(chunk)) sent += chunk.length
    }
    socket.on('drain', flood)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    flood()
    await closed
    expect(sent).toBeLessThan(50 * 2 ** 20)
  },
)

it('lets a client that sent connection: close finish its upload after the refusal', async () => {
  const { url } = await mount()
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const body = 'x'.repeat(500_000)
  socket.write(
    `POST /hook HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: ${JSON_TYPE}\r\nx-service: oops\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\nx`,
  )
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1.1 413 /)
  // If the server had closed the connection, the client would get a reset, and the test would fail.
  await new Promise((resolve) => socket.write(body.slice(1, 250_000), resolve))
  await setImmediate()
  await new Promise((resolve) => socket.write(body.slice(250_000), resolve))
  await once(socket, 'end')
  socket.end()
})

it('returns 500 for a request with setEncoding()', async () => {
  const { url, recorder } = await mount((req) => req.setEncoding('utf8'))
  await warningsOf(async () => {
    const answer = await send(url, {
      headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') },
      body: '{}',
    })
    expect(answer.status).toBe(500)
  })
  expect(recorder.calls[0]?.error?.message).toContain('setEncoding')
})

it('verifies the bytes in req.rawBody, not those in req.body', async () => {
  const rawBody = Buffer.from('{"events":[]}')
  const { url } = await mount((req) => void Object.assign(req, { rawBody, body: Buffer.from('{}') }))
  const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(rawBody) }
  expect((await send(url, { headers, body: rawBody })).status).toBe(200)
})

it('reports body_aborted if the connection is already closed', async () => {
  const { recorder, url } = await mount((req) => req.destroy())
  await expect(
    send(url, { headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') }, body: '{}' }),
  ).rejects.toThrow()
  await recorder.waitFor('refused body_aborted')
})

it('reports body_aborted if the connection closes after the body has arrived', async () => {
  const { observer, waitFor } = createRecorder()
  const listener = webhook(createReceiver({ signatureKey: KEY, observer }))
  const mounted = await listen(async (req, res) => {
    while (req.readableLength < 2) await setImmediate()
    req.destroy()
    void listener(req, res)
  })
  open.push(mounted)
  const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') }
  await expect(send(mounted.url, { headers, body: '{}' })).rejects.toThrow()
  await waitFor('refused body_aborted')
})

it('refuses a body that arrives in chunks while other bodies take the whole capacity, and leaves no listener', async () => {
  let refused: IncomingMessage | undefined
  const { observer } = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer, limit: 10, maxInFlightBytes: 10 })
  const { gate, release } = createGate()
  const other = receiverPort(receiver).receive({
    method: 'POST',
    url: '/hook',
    headers: { 'x-service': signatureOf('{}') },
    async read({ onChunk }) {
      onChunk(Buffer.alloc(10))
      await gate
      throw new Error('gone')
    },
  })
  const listener = webhook(receiver)
  const mounted = await listen((req, res) => {
    refused = req
    void listener(req, res)
  })
  open.push(mounted)
  const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') }
  const req = begin(mounted.url, headers, '{')
  expect((await answerOf(req)).status).toBe(503)
  expect(refused?.listenerCount('aborted')).toBe(0)
  req.end('}')
  release()
  await other
})

it.each<[string, Mode]>([
  ['listener', (receiver, gate) => webhook(receiver.on('*', () => gate))],
  [
    'middleware',
    (receiver, gate) => (req, res) => middleware(receiver)(req, res, () => void gate.then(() => res.end())),
  ],
])('leaves no request in flight after a pipelined connection closes: %s', async (_, mode) => {
  const { observer, waitFor, calls } = createRecorder()
  const { gate, release } = createGate()
  const receiver = createReceiver({ signatureKey: KEY, observer })
  const listener = mode(receiver, gate)
  const { gate: noticed, release: onClose } = createGate()
  const mounted = await listen((req, res) => {
    req.socket.once('close', onClose)
    void listener(req, res)
  })
  const { hostname, port } = new URL(mounted.url)
  const request = (signature: string): string =>
    `POST /hook HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: ${JSON_TYPE}\r\nx-service: ${signature}\r\ncontent-length: 2\r\n\r\n{}`
  const socket = connect(Number(port), hostname)
  socket.write(request(signatureOf('{}')) + request('malformed') + request(signatureOf('{}')))
  await waitFor('refused signature_malformed')
  while (calls.filter(({ name }) => name === 'accepted').length < 2) await setImmediate()
  socket.destroy()
  await noticed
  release()
  await receiver.close()
  await mounted.close()
})

it('leaves a pipelined response to the next handler, even after the client has disconnected', async () => {
  const { observer, waitFor, calls } = createRecorder()
  const responses: ServerResponse[] = []
  const listener = middleware({ signatureKey: KEY, observer })
  const mounted = await listen((req, res) => void listener(req, res, () => responses.push(res)))
  open.push(mounted)
  const { hostname, port } = new URL(mounted.url)
  const request = `POST /hook HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: ${JSON_TYPE}\r\nx-service: ${signatureOf('{}')}\r\ncontent-length: 2\r\n\r\n{}`
  const socket = connect(Number(port), hostname)
  socket.write(request + request)
  while (responses.length < 2) await setImmediate()
  socket.destroy()
  await waitFor('failed handler_failed')
  while (calls.filter(({ name }) => name === 'failed').length < 2) await setImmediate()
  await setImmediate()
  for (const res of responses) expect(() => res.writeHead(204).end()).not.toThrow()
})

it('responds to many pipelined requests without a process warning', async () => {
  const { gate, release } = createGate()
  const { observer, calls } = createRecorder()
  const mounted = await listen(webhook(createReceiver({ signatureKey: KEY, observer }).on('*', () => gate)))
  open.push(mounted)
  const { hostname, port } = new URL(mounted.url)
  const request = (signature: string, last = ''): string =>
    `POST /hook HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: ${JSON_TYPE}\r\nx-service: ${signature}\r\ncontent-length: 2\r\n${last}\r\n{}`
  let text = ''
  const warnings = await warningsOf(async () => {
    const socket = connect(Number(port), hostname)
    socket.on('data', (chunk) => (text += chunk))
    socket.write(request(signatureOf('{}')) + request('x').repeat(30) + request('x', 'connection: close\r\n'))
    while (calls.filter(({ name }) => name === 'refused').length < 31) await setImmediate()
    release()
    await once(socket, 'close')
  })
  expect(warnings).toEqual([])
  expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', ...Array(31).fill('HTTP/1.1 401')])
})

it('after five seconds, disconnects a rejected client that stalls', async () => {
  let stalled: IncomingMessage | undefined
  const { url } = await mount((req) => {
    stalled = req
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(
    `POST /hook HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: ${JSON_TYPE}\r\nx-service: oops\r\ncontent-length: 500\r\n\r\n{`,
  )
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1.1 401 /)
  const closed = once(socket, 'close')
  vi.advanceTimersByTime(4_999)
  expect(stalled?.socket.destroyed).toBe(false)
  vi.advanceTimersByTime(1)
  expect(stalled?.socket.destroyed).toBe(true)
  await closed
})

it('emits end and close on a request whose body arrives with its headers', async () => {
  const events: Promise<unknown>[] = []
  const { url } = await mount((req) => void events.push(once(req, 'end'), once(req, 'close')))
  const body = '{"events":[]}'
  const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(200)
  expect(events.length).toBe(2)
  await Promise.all(events)
})

it('lets finished() resolve for a request whose body arrived with its headers', async () => {
  const listener = webhook(createReceiver({ signatureKey: KEY }).on('*', () => {}))
  const ended: Promise<void>[] = []
  const mounted = await listen(async (req, res) => {
    await listener(req, res)
    ended.push(finished(req))
  })
  open.push(mounted)
  const body = '{"events":[]}'
  const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }
  expect((await fetch(mounted.url, { method: 'POST', headers, body })).status).toBe(200)
  await vi.waitFor(() => expect(ended.length).toBe(1), { timeout: 60_000 })
  await Promise.all(ended)
})

it('finishes a request whose client disconnects while the schema runs', async () => {
  const { gate: validating, release: startValidating } = createGate()
  const { gate: disconnected, release: onDisconnect } = createGate()
  const schema = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      async validate(value: unknown) {
        startValidating()
        await disconnected
        return { value }
      },
    },
  }
  const receiver = createReceiver({ signatureKey: KEY, schema, observer: { failed() {} } })
  const hook = middleware(receiver)
  const mounted = await listen((req, res) => {
    req.socket.once('close', () => onDisconnect())
    void hook(req, res, () => res.end())
  })
  open.push(mounted)
  const { hostname, port } = new URL(mounted.url)
  const socket = connect(Number(port), hostname)
  const body = '{"events":[]}'
  socket.write(
    `POST / HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: ${JSON_TYPE}\r\nx-service: ${signatureOf(body)}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await validating
  socket.destroy()
  await disconnected
  await receiver.close()
  expect((await receiver.stats()).inFlight).toBe(0)
})

it('copies a small body of two chunks into its own buffer', async () => {
  const sizes: number[] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', (_event, { rawBody }) =>
    sizes.push(rawBody.length, rawBody.buffer.byteLength),
  )
  const arrived = createGate()
  const listener = webhook(receiver)
  const mounted = await listen((req, res) => {
    void listener(req, res)
    arrived.release()
  })
  open.push(mounted)
  const body = '{"events":[]}'
  const req = request(mounted.url, {
    method: 'POST',
    headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf(body), 'content-length': body.length },
  })
  req.write(body.slice(0, 5))
  await arrived.gate
  req.end(body.slice(5))
  await once(req, 'response')
  expect(sizes).toEqual([body.length, body.length])
})

it.each([
  ['with content-length', true],
  ['without content-length', false],
])('receives a large body in many chunks exactly, %s', async (_, hasLength) => {
  const bodies: Uint8Array[] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', (_event, { rawBody }) =>
    bodies.push(rawBody),
  )
  const mounted = await listen(webhook(receiver))
  open.push(mounted)
  const text = JSON.stringify({
    events: [{ eventType: 'FeaturesCreated' }],
    pad: randomBytes(200_000).toString('hex'),
  })
  const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(text) }
  const length = hasLength ? { 'content-length': text.length } : {}
  const req = request(mounted.url, { method: 'POST', headers: { ...headers, ...length } })
  for (let at = 0; at < text.length; at += 30_000) {
    await new Promise((written) => req.write(text.slice(at, at + 30_000), written))
    await setImmediate()
  }
  req.end()
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  res.resume()
  expect(res.statusCode).toBe(200)
  expect(bodies.map((bytes) => Buffer.from(bytes).toString())).toEqual([text])
})

it.each([1_048_577, 1_200_000])(
  'accepts the next delivery of a client with keep-alive after a refused body of %d bytes',
  async (length) => {
    const { observer } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, observer })
    // Longer than the client has to read the refusal.
    receiver.on('*', () => new Promise((resolve) => setTimeout(resolve, 1_200)))
    const server = createServer(webhook(receiver)).listen(0, '127.0.0.1')
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => {
      agent.destroy()
      server.close()
    })
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const post = async (body: Buffer | string, signature: string): Promise<number | undefined> => {
      const req = request({
        port,
        host: '127.0.0.1',
        agent,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-service': signature,
          'content-length': Buffer.byteLength(body),
        },
      })
      const response = once(req, 'response')
      req.end(body)
      const [res] = await response
      await once(res.resume(), 'end')
      return res.statusCode
    }
    expect(await post(Buffer.alloc(length), 'zz')).toBeGreaterThan(400)
    const body = payloadOf('FeaturesCreated')
    expect(await post(body, signatureOf(body))).toBe(200)
  },
)
