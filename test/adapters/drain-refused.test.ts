import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'

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

it.each<[limit: number | string, length: number]>([
  [1000, 2 ** 20],
  ['2mb', 2 ** 21],
])('with a limit of %s, %i bytes after a refusal do not block the next request', async (limit, length) => {
  const receiver = createReceiver({ signatureKey: KEY, limit, observer: { refused() {} } }).on('*', () => {})
  const { url, close } = await listen(webhook(receiver))
  onTestFinished(close)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (part) => (text += part))
  const answers = () => text.match(/HTTP\/1.1 \d+/g) ?? []
  const head = `POST /hook HTTP/1.1\r\nhost: a\r\ncontent-type: ${JSON_TYPE}\r\n`
  socket.write(`${head}x-service: oops\r\ntransfer-encoding: chunked\r\n\r\n`)
  while (answers().length < 1) await setImmediate()
  socket.write(`${length.toString(16)}\r\n${'x'.repeat(length)}\r\n0\r\n\r\n`)
  socket.write(`${head}x-service: ${signatureOf('{}')}\r\ncontent-length: 2\r\n\r\n{}`)
  while (answers().length < 2) await setImmediate()
  expect(answers()).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200'])
})

it('closes the connection after a refusal that began while the previous request was still being drained', async () => {
  const receiver = createReceiver({ signatureKey: KEY, observer: { refused() {} } }).on('*', () => {})
  const requests: IncomingMessage[] = []
  const hook = webhook(receiver)
  const { url, close } = await listen((req, res) => {
    requests.push(req)
    void hook(req, res)
  })
  onTestFinished(close)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (part) => (text += part))
  const answers = () => text.match(/HTTP\/1.1 \d+/g) ?? []
  const head = `POST /hook HTTP/1.1\r\nhost: a\r\ncontent-type: ${JSON_TYPE}\r\nx-service: oops\r\n`
  socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
  while (answers().length < 1) await setImmediate()
  const length = 2 ** 20 + 1
  socket.write(`${length.toString(16)}\r\n${'x'.repeat(length)}\r\n0\r\n\r\n`)
  socket.write(`${head}connection: close\r\ncontent-length: 2\r\n\r\n{`)
  while (answers().length < 2) await setImmediate()
  vi.advanceTimersByTime(1_000)
  while (!requests[0]?.readableEnded) await setImmediate()
  const closed = once(socket, 'close')
  socket.write('}')
  await closed
  expect(answers()).toEqual(['HTTP/1.1 401', 'HTTP/1.1 401'])
})
