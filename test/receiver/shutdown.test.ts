import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { closeOnSignal, createReceiver, type ShutdownOptions } from 'geohook'
import { webhook } from 'geohook/node'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { dataFrame, frame, headersFrame, preface, SETTINGS, WINDOW_UPDATE } from '../helpers/http2-frames.ts'
import { createRecorder } from '../helpers/recorder.ts'

const exit = vi.fn()

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  vi.spyOn(process, 'exit').mockImplementation(exit as never)
})
afterEach(async () => {
  await vi.advanceTimersByTimeAsync(1_000) // removes the listeners to signals
  vi.useRealTimers()
  vi.restoreAllMocks()
  exit.mockReset()
})

const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}'), 'content-length': 2 }
const listeners = () => [process.listenerCount('SIGTERM'), process.listenerCount('SIGINT')]

/** Starts a server whose webhook handler waits for `release`. Its other routes respond immediately, one with 20 MB. */
async function start(options?: ShutdownOptions, create: typeof createServer = createServer) {
  const { gate, release } = createGate()
  const { observer, waitFor } = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => gate)
  const hook = webhook(receiver)
  const server: Server = create((req, res) => {
    if (req.url === '/hook') void hook(req, res)
    else res.end(req.url === '/large' ? Buffer.alloc(20_000_000) : 'other')
  })
  onTestFinished(release)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeOnSignal(server, receiver, options)
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  async function post(path: string): Promise<IncomingMessage> {
    const req = request({ host: '127.0.0.1', port, path, agent, method: 'POST', headers })
    req.end('{}')
    const [res] = await once(req, 'response')
    await once(res.resume(), 'end')
    return res
  }
  return { server, receiver, port, post, release, waitFor }
}

/** Advances the fake timers until the check passes. */
async function until(check: () => boolean): Promise<void> {
  while (!check()) await Promise.all([vi.advanceTimersByTimeAsync(1), setImmediate()])
}

it.each(['SIGTERM', 'SIGINT'] as const)(
  '%s: responds to the requests in flight, then calls `after`, and leaves only the timer of the forced exit',
  async (signal) => {
    const before = listeners()
    const order: string[] = []
    const { server, receiver, port, post, release, waitFor } = await start({
      after: () => order.push('after'),
    })
    expect(listeners()).toEqual(before.map((count) => count + 1))
    const idle = connect(port, '127.0.0.1')
    await once(idle, 'connect')
    const responded = post('/hook').then(({ statusCode, headers: { connection } }) => {
      order.push(`${statusCode} ${connection}`)
    })
    await waitFor('accepted')
    process.emit(signal)
    process.emit('SIGINT') // the copy that tsx or npm forwards
    expect([server.listening, (await receiver.stats()).closed]).toEqual([false, true])
    const closed = once(idle.resume(), 'close')
    idle.write('POST /other HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n')
    await closed // responses of other routes also close their connections
    release()
    await responded
    await until(() => order.length === 2)
    expect(order).toEqual(['200 close', 'after'])
    expect(listeners()).toEqual(before.map((count) => count + 1))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(listeners()).toEqual(before) // so that the next signal terminates the process
    expect([vi.getTimerCount(), exit.mock.calls]).toEqual([1, []])
  },
)

it('closes an idle connection after a second', async () => {
  const after = vi.fn()
  const { server, post } = await start({ after })
  await post('/other')
  const closed = once(server, 'close')
  process.emit('SIGTERM')
  await vi.advanceTimersByTimeAsync(999)
  expect(after).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  await closed
  await until(() => after.mock.calls.length > 0)
})

it.each<[number, ShutdownOptions?]>([[5_000], [5_000, {}], [200, { timeout: 200 }]])(
  'exits with 1 after %i ms, and closes connections shortly before',
  async (timeout, options) => {
    const { post, waitFor, release } = await start(options)
    let isClosed = false
    const failed = post('/hook').catch(() => {
      isClosed = true
    })
    await waitFor('accepted')
    process.emit('SIGTERM')
    await vi.advanceTimersByTimeAsync(timeout * 0.8 - 1)
    for (let turn = 0; turn < 10; turn++) await setImmediate()
    expect(isClosed).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await failed
    await vi.advanceTimersByTimeAsync(timeout * 0.2 - 1)
    expect(exit.mock.calls).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(exit.mock.calls).toEqual([[1]])
    release()
    await until(() => vi.getTimerCount() === (timeout < 1_000 ? 1 : 0))
  },
)

it('closes HTTP/2 sessions after their last request, or immediately without one', async () => {
  const after = vi.fn()
  const { port, waitFor, release } = await start({ after }, createHttp2Server as never)
  const [busy, idle, gone] = Array.from({ length: 3 }, () => connectHttp2(`http://127.0.0.1:${port}`))
  await Promise.all([busy, idle, gone].map((session) => once(session as never, 'remoteSettings')))
  gone?.destroy()
  const stream = busy?.request({ ':method': 'POST', ':path': '/hook', ...headers }).end('{}')
  await waitFor('accepted')
  const ended = once(idle as never, 'close')
  process.emit('SIGTERM')
  await ended
  await vi.advanceTimersByTimeAsync(3_500)
  expect([busy?.destroyed, after.mock.calls.length]).toEqual([false, 0])
  release()
  const [answer] = await once(stream as never, 'response')
  expect(answer[':status']).toBe(200)
  stream?.resume()
  await once(busy as never, 'close')
  await until(() => after.mock.calls.length > 0)
})

const fields = { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') }
const MAX_WINDOW = Buffer.from('7fff0000', 'hex')

/** What a client sends. It reads nothing. */
const SESSIONS: Record<string, Buffer[]> = {
  'whose upload has not ended': [headersFrame(1, fields), dataFrame(1, '{', false)],
  'that has failed': [headersFrame(1, fields), dataFrame(1, '{', false), dataFrame(0, 'x')],
  'whose client does not read its response': [
    frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), MAX_WINDOW])),
    frame(WINDOW_UPDATE, 0, 0, MAX_WINDOW),
    headersFrame(1, { ':path': '/large' }),
    dataFrame(1, ''),
  ],
}

it.each(Object.keys(SESSIONS))(
  'after 80 percent of the timeout, closes an HTTP/2 session %s, and calls `after`',
  async (name) => {
    const after = vi.fn()
    const { server, port } = await start({ after }, createHttp2Server as never)
    const requested = once(server, 'request')
    const client = connect(port, '127.0.0.1')
      .pause()
      .on('error', () => {})
    onTestFinished(() => void client.destroy())
    client.write(Buffer.concat([preface(), ...(SESSIONS[name] ?? [])]))
    await requested
    process.emit('SIGTERM')
    await vi.advanceTimersByTimeAsync(3_999)
    for (let turn = 0; turn < 10; turn++) await setImmediate()
    expect(after).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    await until(() => after.mock.calls.length > 0)
    expect(exit).not.toHaveBeenCalled()
  },
)

it.each([0, -1, 1.5, Infinity, Number.NaN, 2 ** 31])('rejects a timeout of %d', (timeout) => {
  const before = listeners()
  expect(() => closeOnSignal(createServer(), createReceiver({ signatureKey: KEY }), { timeout })).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining('timeout must be') }),
  )
  expect(listeners()).toEqual(before)
})

it.each([1, 2 ** 31 - 1])('accepts a timeout of %d', (timeout) => {
  const added = vi.spyOn(process, 'on').mockReturnThis()
  closeOnSignal(createServer(), createReceiver({ signatureKey: KEY }), { timeout })
  expect(added.mock.calls.map(([name]) => name)).toEqual(['SIGTERM', 'SIGINT'])
})
