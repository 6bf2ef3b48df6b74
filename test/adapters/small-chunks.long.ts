import { once } from 'node:events'
import { request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { answerOf } from '../helpers/http.ts'
import { startProgram } from '../helpers/process.ts'

const BUDGET = 6 * 2 ** 20
const CONNECTIONS = 32
/**
 * Bytes of an unfinished body that each connection sends, by the size of its chunks. All together are less than the
 * budget, but a million objects for chunks would not fit into the heap.
 */
const HELD: Record<number, number> = { 1: 30_000, 300: 150_000 }

const HTTP2 = 'HTTP/2'
/** Discards all bodies, so that it shows how much memory Node itself needs. */
const CONTROL = 'HTTP/2 without geohook'
/** Expressions that create a server. */
const SERVERS: Record<string, string> = {
  'node:http': `http.createServer((await import('geohook/node')).webhook(receiver))`,
  Express: `http.createServer((await import('express')).default().use((await import('geohook/express')).webhook(receiver)))`,
  Koa: `http.createServer(new (await import('koa')).default().use((await import('geohook/koa')).webhook(receiver)).callback())`,
  Fastify: `await (async () => {
    const app = (await import('fastify')).default()
    await app.register((await import('geohook/fastify')).webhook(receiver), { prefix: '/hook' }).ready()
    return app.server
  })()`,
  Hono: `(await import('@hono/node-server')).createAdaptorServer(
    new (await import('hono')).Hono().post('/hook', (await import('geohook/hono')).webhook(receiver)))`,
  h3: `await (async () => {
    const { H3, serve } = await import('h3')
    const app = new H3({ silent: true }).post('/hook', (await import('geohook/h3')).webhook(receiver))
    return serve(app, { manual: true, silent: true, gracefulShutdown: false }).node.server
  })()`,
  [HTTP2]: `http2.createServer((await import('geohook/node')).webhook(receiver))`,
  [CONTROL]: `http2.createServer((req, res) => void req.on('data', () => {}).on('end', () => res.end()))`,
}

const program = (server: string): string => `
  import http from 'node:http'
  import http2 from 'node:http2'
  import { createReceiver } from 'geohook'
  const observer = { refused() {}, failed() {} }
  const receiver = createReceiver({ signatureKey: '${KEY}', maxInFlightBytes: ${BUDGET}, bodyTimeout: 600_000, observer })
    .on('*', () => {})
  const server = ${server}
  const sockets = []
  server.on('connection', (socket) => sockets.push(socket))
  process.stdin.on('data', () => {
    gc()
    const received = sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
    console.log('received', received, 'rss', process.memoryUsage.rss(), '.')
  })
  server.listen(0, '127.0.0.1', () => console.log('port', server.address().port, '.'))`

/** An upload in small chunks. */
interface Upload {
  socket: Socket
  /** Sends more of the body. Resolves when all of it is written. */
  send(bytes: number): Promise<void>
}

const HEADERS = { 'content-type': JSON_TYPE, 'x-service': '0'.repeat(64) }

function upload(port: number, size: number): Upload {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.resume()
  const lines = Object.entries({ ...HEADERS, host: 'a', 'transfer-encoding': 'chunked' }).map((pair) =>
    pair.join(': '),
  )
  socket.write(`POST /hook HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`
  return {
    socket,
    async send(bytes) {
      const part = chunk.repeat(1_000)
      for (let sent = 0; sent < bytes && !socket.destroyed; sent += 1_000 * size)
        if (!socket.write(part)) await Promise.race([once(socket, 'drain'), once(socket, 'close')])
    },
  }
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt16BE(type * 256 + flags, 3)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

const [DATA, HEADER, SETTINGS, WINDOW_UPDATE] = [0, 1, 4, 8]

/** Writes frames itself, because Node's client would join the chunks. */
function uploadHttp2(port: number, size: number): Upload {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  /** Bytes that may be sent on the connection and on the stream (RFC 9113 section 6.9). */
  const windows = [65_535, 65_535]
  let received = Buffer.alloc(0)
  socket.on('data', (data: Buffer) => {
    received = Buffer.concat([received, data])
    while (received.length >= 9 && received.length >= 9 + received.readUIntBE(0, 3)) {
      const payload = received.subarray(9, 9 + received.readUIntBE(0, 3))
      if (received[3] === WINDOW_UPDATE) {
        const index = received.readUInt32BE(5)
        windows[index] = (windows[index] as number) + payload.readUInt32BE(0)
        socket.emit('window')
      }
      if (received[3] === HEADER) socket.destroy() // a refusal: the stream gets no more windows
      received = received.subarray(9 + payload.length)
    }
  })
  const literal = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)])
  const head = { ':method': 'POST', ':path': '/hook', ':scheme': 'http', ':authority': 'a', ...HEADERS }
  const pairs = Object.entries(head).flatMap(([name, value]) => [
    Buffer.alloc(1),
    literal(name),
    literal(value),
  ])
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(
    Buffer.concat([frame(SETTINGS, 0, 0, Buffer.alloc(0)), frame(SETTINGS, 1, 0, Buffer.alloc(0))]),
  )
  socket.write(frame(HEADER, 4, 1, Buffer.concat(pairs)))
  const chunk = frame(DATA, 0, 1, Buffer.alloc(size, 'x'))
  return {
    socket,
    async send(bytes) {
      for (let sent = 0; sent < bytes && !socket.destroyed; ) {
        const count = Math.min(1_000, Math.floor(Math.min(...windows) / size))
        sent += count * size
        for (const index of [0, 1]) windows[index] = (windows[index] as number) - count * size
        if (count === 0) await Promise.race([once(socket, 'window'), once(socket, 'close')])
        else socket.write(Buffer.concat(Array<Buffer>(count).fill(chunk)))
      }
    },
  }
}

/** Sends a valid delivery on a connection of its own. Resolves with the status. */
async function deliver(port: number, isHttp2: boolean): Promise<number> {
  const body = payloadOf('FeaturesCreated')
  const headers = { ...HEADERS, 'x-service': signatureOf(body) }
  if (!isHttp2) {
    const length = { 'content-length': body.length }
    const req = request({
      port,
      path: '/hook',
      method: 'POST',
      headers: { ...headers, ...length },
      agent: false,
    })
    req.end(body)
    return (await answerOf(req)).status
  }
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  const stream = session.request({ ':method': 'POST', ':path': '/hook', ...headers })
  stream.end(body)
  const [{ ':status': status }] = await once(stream, 'response')
  session.destroy()
  return status
}

/** Starts a server, and sends the start of many bodies, in chunks of `size` bytes. */
async function attack(name: string, size: number) {
  const args = ['--max-old-space-size=128', '--expose-gc', '--input-type=module', '--eval']
  // Small semi-spaces keep garbage of Node's own parsers, which differs between runs, out of the measurement.
  const app = startProgram(
    process.execPath,
    ['--max-semi-space-size=1', ...args, program(SERVERS[name] as string)],
    {},
    { stdin: 'open' },
  )
  onTestFinished(async () => void (await app.stop('SIGKILL')))
  const port = Number((await app.printed(/port (\d+) /))[1])
  const isHttp2 = name.startsWith(HTTP2)
  async function measure(): Promise<{ received: number; rss: number }> {
    const { length } = app.stdout
    app.child.stdin?.write('\n')
    for (;;) {
      const [, received, rss] = /received (\d+) rss (\d+) /.exec(app.stdout.slice(length)) ?? []
      if (rss !== undefined) return { received: Number(received), rss: Number(rss) }
      if (app.child.exitCode !== null || app.child.signalCode !== null) throw new Error(app.output)
      await setTimeout(10)
    }
  }
  const deliverNext = (): Promise<number> => deliver(port, isHttp2)
  for (let count = 0; count < 20; count++) await deliverNext()
  const idle = await measure()
  const uploads = Array.from({ length: CONNECTIONS }, () => (isHttp2 ? uploadHttp2 : upload)(port, size))
  onTestFinished(() => {
    for (const { socket } of uploads) socket.destroy()
  })
  const sending = Promise.all(uploads.map(({ send }) => send(HELD[size] as number)))
  const during = [await deliverNext()]
  await sending
  const sent = uploads.reduce((sum, { socket }) => sum + socket.bytesWritten, 0)
  let after = await measure()
  while (after.received - idle.received < sent) {
    during.push(await deliverNext())
    after = await measure()
  }
  return { uploads, during, deliverNext, bytes: (await measure()).rss - idle.rss }
}

it.each(
  Object.keys(SERVERS)
    .filter((name) => name !== CONTROL)
    .flatMap((name) => Object.keys(HELD).map((size) => [name, Number(size)] as const)),
)(
  `a heap of 128 MB and a budget of 6 MiB withstand ${CONNECTIONS} uploads in small chunks: %s, %i bytes`,
  async (name, size) => {
    let attacked = await attack(name, size)
    // Over HTTP/2, Node needs more than that for tiny chunks even if a server discards them.
    // How much depends on the pace of both processes, so the smallest difference of three counts.
    const exceeds = async () =>
      attacked.bytes - (name === HTTP2 ? (await attack(CONTROL, size)).bytes : 0) >= 2.5 * BUDGET
    let isTooMuch = await exceeds()
    for (let round = 1; round < 3 && name === HTTP2 && isTooMuch; round++) {
      attacked = await attack(name, size)
      isTooMuch = await exceeds()
    }
    expect(isTooMuch).toBe(false)
    const { uploads, during, deliverNext } = attacked
    expect(new Set(during)).toEqual(new Set([200]))

    // The senders exceed the budget: deliveries are refused with 503, until the uploads end.
    const sending = Promise.all(uploads.map(({ send }) => send(HELD[size] as number)))
    const answers = [await deliverNext()]
    await sending
    answers.push(await deliverNext())
    for (const status of answers) expect([200, 503]).toContain(status)
    for (const { socket } of uploads) socket.destroy()
    while ((await deliverNext()) !== 200) await setTimeout(10)
  },
)
