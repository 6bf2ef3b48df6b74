import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { H3 } from 'h3'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE } from '../helpers/deliver.ts'
import type { Mount } from '../helpers/mounts/mounted.ts'
import { listenH3 } from '../helpers/mounts/web.ts'
import { ON_SOCKETS } from '../helpers/mounts.ts'
import { BODY, signed } from './cases/case.ts'
import type { SetupName } from './setups.ts'
import { startHere } from './subject.ts'

interface Refusal {
  setup: SetupName
  status: number
  header: string
}

const REFUSALS = {
  '413 for its headers': { setup: 'limited', status: 413, header: 'content-length: 100000000000' },
  '413 for its body': { setup: 'limited', status: 413, header: 'transfer-encoding: chunked' },
  '401': { setup: 'plain', status: 401, header: 'x-service: oops\r\ntransfer-encoding: chunked' },
  '401 with connection: close': {
    setup: 'plain',
    status: 401,
    header: 'x-service: oops\r\ntransfer-encoding: chunked\r\nconnection: close',
  },
  '408': { setup: 'impatient', status: 408, header: 'transfer-encoding: chunked' },
} satisfies Record<string, Refusal>

const chunk = (size: number): string => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`

/** Starts a request, and reads the error response before the request body is complete. */
async function refused(url: string, { status, header }: Refusal): Promise<Socket> {
  const { hostname, port, pathname } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  const signature = header.includes('x-service') ? '' : `x-service: ${'0'.repeat(64)}\r\n`
  socket.write(
    `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: ${JSON_TYPE}\r\n${signature}${header}\r\n\r\n`,
  )
  socket.write(chunk(header.startsWith('transfer') && status === 413 ? 2_000 : 10))
  const response = once(socket, 'data')
  if (status === 408) await until(() => vi.getTimerCount() > 0).then(() => vi.advanceTimersByTimeAsync(50))
  expect(String((await response)[0])).toContain(`HTTP/1.1 ${status} `)
  return socket
}

const closing = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => socket.resume().once('close', resolve))

async function until(check: () => boolean): Promise<void> {
  while (!check()) await setImmediate()
}

/**
 * Writes until `maximum` bytes are sent, or until the socket accepts no more bytes for 20 event loop ticks. The server
 * uses the same event loop. Returns the number of bytes sent.
 */
async function flood(socket: Socket, maximum: number): Promise<number> {
  const taken = (): number => socket.bytesWritten - socket.writableLength
  const more = Buffer.from(chunk(0x40000))
  for (let before = taken(), quiet = 0; quiet < 20 && taken() < maximum; quiet++) {
    if (!socket.destroyed && !socket.writableNeedDrain) socket.write(more)
    await setImmediate()
    if (taken() === before) continue
    before = taken()
    quiet = 0
  }
  return taken()
}

/** Mounts `receiver.fetch` on srvx. There, the receiver has access to Node's own request object. */
const mountSrvx: Mount = (receiver) =>
  listenH3(new H3({ silent: true }).all('/hook', ({ req }) => receiver.fetch(req as Request)))

const COLUMNS = [...ON_SOCKETS, ['fetch (h3 server)', { mount: mountSrvx }] as const]

describe.each(COLUMNS)('a client that keeps sending after it was refused: %s', (_, { mount }) => {
  const { start, stop } = startHere(mount)
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(async () => {
    vi.useRealTimers()
    await stop()
  })

  it.each(['413 for its headers', '401', '408'] as const)(
    'is disconnected after a second, after the server has read few of its bytes: %s',
    async (name) => {
      const refusal = REFUSALS[name]
      const { url } = await start(refusal.setup)
      const socket = await refused(url, refusal)
      const closed = closing(socket)
      // The server reads 1 MiB. The remaining bytes stay in the socket buffers of both sides.
      expect(await flood(socket, 64 * 2 ** 20)).toBeLessThan(24 * 2 ** 20)
      await vi.advanceTimersByTimeAsync(1_000)
      await closed
    },
  )

  it.each(Object.entries(REFUSALS))('is disconnected after five seconds if slow: %s', async (_, refusal) => {
    const { url } = await start(refusal.setup)
    const socket = await refused(url, refusal)
    const closed = closing(socket)
    for (let second = 0; second < 5; second++) {
      socket.write(chunk(1))
      await vi.advanceTimersByTimeAsync(1_000)
    }
    // A client may notice the closed connection only when it writes.
    const writing = setInterval(() => socket.write(chunk(1)), 5)
    await closed.finally(() => clearInterval(writing))
  })

  it.each(Object.entries(REFUSALS))('leaves no timer behind if it disconnects: %s', async (_, refusal) => {
    const { url } = await start(refusal.setup)
    const before = vi.getTimerCount()
    const socket = await refused(url, refusal)
    socket.destroy()
    // The server uses the same event loop. Hono's server has a timer of its own, of 500 ms.
    for (let tick = 0; tick < 20; tick++) await setImmediate(await vi.advanceTimersByTimeAsync(40))
    expect(vi.getTimerCount()).toBe(before)
  })

  it.each([
    ['if it has arrived completely', true],
    ['if its rest arrives after the refusal', false],
  ])('cannot smuggle requests in its body, %s', async (_, isAtOnce) => {
    const { url, entries } = await start('plain')
    const { headers = {} } = signed(BODY)
    const request = `POST /hook HTTP/1.1\r\nhost: a\r\n${Object.entries({
      ...headers,
      'content-length': BODY.length,
    })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n${BODY}`
    const body = request.repeat(50)
    const head = `POST /hook HTTP/1.1\r\nhost: a\r\ncontent-type: ${JSON_TYPE}\r\nx-service: oops\r\ncontent-length: ${body.length}\r\n\r\n`
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    const ended = once(socket, 'end')
    let text = ''
    socket.setEncoding('utf8').on('data', (part) => (text += part))
    const answers = () => text.match(/HTTP\/1.1 \d+/g) ?? []
    const first = isAtOnce ? body.length : 1_000 // 1,000 bytes end in the middle of a request
    socket.write(head + body.slice(0, first))
    await until(() => answers().length === 1)
    socket.write(body.slice(first) + (isAtOnce ? request : ''))
    if (isAtOnce) await until(() => answers().length === 2)
    else await ended
    socket.destroy()
    expect(answers()).toEqual(['HTTP/1.1 401', ...(isAtOnce ? ['HTTP/1.1 200'] : [])])
    expect((await entries()).flatMap(({ line }) => line ?? [])).toEqual([
      'refused signature_malformed',
      ...(isAtOnce ? ['accepted', 'handled'] : []),
    ])
  })

  it.each(['413 for its body', '408', '401'] as const)(
    'cannot have further requests handled on a connection that is being closed: %s',
    async (name) => {
      const { url, entries } = await start(REFUSALS[name].setup)
      const socket = await refused(url, REFUSALS[name])
      const ended = once(socket.resume(), 'end')
      const { headers = {} } = signed(BODY)
      const fields = { host: 'a', ...headers, 'content-length': BODY.length }
      const lines = Object.entries(fields).map(([field, value]) => `${field}: ${value}\r\n`)
      const request = `POST /hook HTTP/1.1\r\n${lines.join('')}\r\n${BODY}`
      socket.write(`0\r\n\r\n${request}${request}`)
      await ended
      await setImmediate() // until a request that arrived with the end of the body would have been handled
      const seen = (await entries()).flatMap(({ line }) => line ?? [])
      expect(seen.filter((line) => !line.startsWith('refused '))).toEqual([])
    },
  )

  it('can close its half of the connection, and the server closes the other half', async () => {
    const { url } = await start('plain')
    const socket = await refused(url, REFUSALS['401'])
    const closed = closing(socket)
    socket.end()
    await closed
  })
})

/** Requests to which the receiver responds without reading the body: setup, status, request line, headers. */
const UNREAD: [SetupName, number, string, string?][] = [
  ['plain', 401, 'POST /hook'],
  ['plain', 401, 'POST /hook', 'x-service: oops\r\n'],
  ['plain', 405, 'PUT /hook'],
  ['plain', 415, 'POST /hook', 'content-encoding: gzip\r\n'],
  ['handshake', 200, 'GET /hook?crc_token=a'],
  ['handshake', 400, 'GET /hook'],
]

describe.each(COLUMNS)('a response before the body is read: %s', (_, { mount }) => {
  const { start, stop } = startHere(mount)
  afterEach(stop)

  it.each([
    ['content-length: 3', '{}', 'close'],
    ['content-length: 2', '{}', 'keep-alive'],
    ['transfer-encoding: chunked', '2\r\n{}\r\n', 'close'],
    ['transfer-encoding: chunked', '2\r\n{}\r\n0\r\n\r\n', 'keep-alive'],
    ['content-length: 0', '', 'keep-alive'],
  ])('with the header %s and the body %j says connection: %s', async (length, body, connection) => {
    for (const [setup, status, line, headers = ''] of UNREAD) {
      const { hostname, port } = new URL((await start(setup)).url)
      const socket = connect(Number(port), hostname)
      socket.write(
        `${line} HTTP/1.1\r\nhost: a\r\ncontent-type: ${JSON_TYPE}\r\n${headers}${length}\r\n\r\n${body}`,
      )
      const response = String((await once(socket, 'data'))[0])
      socket.destroy()
      const seen = [/\d{3}/.exec(response)?.[0], /^connection: (.*)\r$/im.exec(response)?.[1]]
      expect([line, ...seen]).toEqual([line, String(status), connection])
    }
  })
})
