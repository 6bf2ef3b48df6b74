import dns from 'node:dns'
import { EventEmitter, once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import net from 'node:net'
import { type Attempt, createManualClock, type MockServiceOptions } from 'geohook/mock'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { unusedUrl } from '../../helpers/target.ts'
import { capture, create, FEATURE, seed } from '../support.ts'

const created = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }
const REFUSED = 'the host is not on this machine and not in allowHosts'

afterEach(() => {
  vi.restoreAllMocks()
})

async function deliverTo(hookUrl: string, options: MockServiceOptions = {}): Promise<Attempt> {
  const service = create([seed(FEATURE, { hookUrl })], options)
  const [attempt] = await service.trigger(created)
  expect(service.deliveries).toEqual([attempt])
  return attempt as Attempt
}

/** Makes all host names resolve to these addresses. */
function resolveTo(...addresses: dns.LookupAddress[]) {
  const lookup = (_host: string, _options: object, done: (error: null, found: dns.LookupAddress[]) => void) =>
    done(null, addresses)
  return vi.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup)
}

const LOOPBACK = { address: '127.0.0.1', family: 4 }

describe('a host that is not allowed is never contacted', () => {
  it.each([
    'http://example.com/hook',
    'https://example.com/hook',
    'http://10.0.0.1/hook',
    'http://167772161/hook',
    'http://192.168.0.1/hook',
    'http://169.254.169.254/latest/meta-data/',
    'http://0.0.0.0/hook',
    'http://128.0.0.1/hook',
    'http://[::]/hook',
    'http://[::2]/hook',
    'http://[::ffff:10.0.0.1]/hook',
    'http://127.0.0.1.evil.example/hook',
    'http://localhost.evil.example/hook',
    'http://evillocalhost/hook',
    'http://evil.example/127.0.0.1',
    'http://evil.example#@127.0.0.1/',
    'http://evil.example\\@127.0.0.1/',
  ])('%s', async (url) => {
    const connect = vi.spyOn(net.Socket.prototype, 'connect')
    const lookup = resolveTo(LOOPBACK)
    const attempt = await deliverTo(url)
    expect(attempt).toMatchObject({ hookUrl: url, error: expect.stringMatching(/./) })
    expect(attempt.error).toBe(REFUSED)
    expect(attempt).not.toHaveProperty('answer')
    expect(connect).not.toHaveBeenCalled()
    expect(lookup).not.toHaveBeenCalled()
  })

  it.each([
    '127.0.0.1',
    '127.1',
    '127.255.255.254',
    '2130706433',
    '0x7f000001',
    '017700000001',
    'localhost',
    'LOCALHOST',
  ])('this machine is allowed in every notation: %s', async (host) => {
    const connect = vi.spyOn(net.Socket.prototype, 'connect')
    const receiver = await capture()
    const attempt = await deliverTo(`http://${host}:${receiver.port}/hook`)
    expect(connect).toHaveBeenCalledOnce()
    // Only 127.0.0.1 is certain to be reachable. Attempts to other addresses of this machine may fail.
    if (!host.endsWith('254')) expect([attempt.answer?.status, receiver.requests.length]).toEqual([200, 1])
    expect(attempt.error).not.toBe(REFUSED)
  })

  it('this machine over IPv6 is allowed', async () => {
    const connect = vi.spyOn(net.Socket.prototype, 'connect')
    const attempt = await deliverTo('http://[::1]:9/hook')
    expect(connect).toHaveBeenCalledOnce()
    expect(attempt.error).toMatch(/E[A-Z]+/)
  })

  it.each(['receiver.example', 'Receiver.Example'])('allowHosts allows %s, and no other', async (host) => {
    const receiver = await capture()
    resolveTo(LOOPBACK)
    const options = { allowHosts: [host] }
    const url = `http://receiver.EXAMPLE:${receiver.port}/hook`
    expect((await deliverTo(url, options)).answer?.status).toBe(200)
    expect((await deliverTo(url.replace('receiver', 'x.receiver'), options)).error).toBe(REFUSED)
    expect((await deliverTo(url.replace('receiver.', ''), options)).error).toBe(REFUSED)
    expect(receiver.requests).toHaveLength(1)
  })

  it.each([
    ['an IPv6 address as in a URL', '[::]', '[::]'],
    ['or without the brackets, or written otherwise', '0:0::0', '[::]'],
    ['a name that is not ASCII', 'bücher.example', 'BÜCHER.example'],
    ['or its form in ASCII', 'xn--bcher-kva.example', 'bücher.example'],
  ])('allowHosts: %s', async (_, allowed, host) => {
    const receiver = await capture()
    if (host.endsWith('example')) resolveTo(LOOPBACK)
    const url = `http://${host}:${receiver.port}/hook`
    expect((await deliverTo(url, { allowHosts: ['other.example'] })).error).toBe(REFUSED)
    const connect = vi.spyOn(net.Socket.prototype, 'connect')
    const { answer, error } = await deliverTo(url, { allowHosts: ['other.example', allowed] })
    expect(connect).toHaveBeenCalledOnce()
    expect(error).not.toBe(REFUSED)
    // Not every machine has IPv6, so the responses from IPv6 addresses are not checked.
    if (host.endsWith('example')) expect(answer?.status).toBe(200)
  })

  it.each(['', ' ', 'http://10.0.0.1', '10.0.0.1:80', '10.0.0.1/', 'a@10.0.0.1', '['])(
    'allowHosts refuses %j',
    (host) => {
      expect(() => create([], { allowHosts: [host] })).toThrow(
        /allowHosts\.0: must be a host, without a port/,
      )
    },
  )

  it.each(['*', '.'])('allowHosts: %j allows nothing', async (host) => {
    expect((await deliverTo('http://10.0.0.1/', { allowHosts: [host] })).error).toBe(REFUSED)
  })

  it('does not follow a redirect', async () => {
    const elsewhere = await capture()
    const receiver = await capture((_req, res) => res.writeHead(307, { location: elsewhere.url }).end())
    expect((await deliverTo(receiver.url)).answer).toMatchObject({
      status: 307,
      headers: { location: elsewhere.url },
    })
    expect(elsewhere.requests).toEqual([])
  })
})

describe('trigger records the result and never rejects if the receiver', () => {
  it.each([200, 202, 204, 400, 401, 404, 429, 500, 503])('responds with %i', async (status) => {
    const receiver = await capture((_req, res) => res.writeHead(status, { 'x-seen': 'yes' }).end())
    const attempt = await deliverTo(receiver.url)
    expect(attempt.answer).toMatchObject({ status, headers: { 'x-seen': 'yes' }, body: '' })
    expect(attempt).not.toHaveProperty('error')
    expect(receiver.requests, 'one attempt').toHaveLength(1)
  })

  it('is down', async () => {
    const { origin, host } = new URL(await unusedUrl())
    const attempt = await deliverTo(`${origin}/hook`)
    expect(attempt.error).toBe(`connect ECONNREFUSED ${host}`)
    expect(attempt).not.toHaveProperty('answer')
  })

  it('is down at every address of its host name: the recorded error is not empty', async () => {
    const { port } = new URL(await unusedUrl())
    resolveTo({ address: '127.0.0.2', family: 4 }, LOOPBACK)
    const { error } = await deliverTo(`http://localhost:${port}/hook`)
    expect(error).toContain('ECONNREFUSED')
  })

  const hangUps: [string, RequestListener][] = [
    ['before its response', (req) => req.socket.destroy()],
    [
      'in the middle of its response',
      (req, res) => {
        res.writeHead(200, { 'content-length': 100 })
        res.write('half', () => req.socket.destroy())
      },
    ],
    ['after something that is not HTTP', (req) => req.socket.end('SSH-2.0-OpenSSH\r\n')],
    [
      'after endless headers',
      (req) => req.socket.end(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`),
    ],
  ]
  it.each(hangUps)('closes the connection %s', async (_, respond) => {
    const attempt = await deliverTo((await capture(respond)).url)
    expect(attempt.error).toMatch(/./)
    expect(attempt).not.toHaveProperty('answer')
  })

  it('sends an endless response: 64 KiB are kept, and the connection is closed', async () => {
    const closed = new EventEmitter()
    const receiver = await capture((_req, res) => {
      const more = (): void => void (res.destroyed || (res.write('x'.repeat(10_000)) ? more() : undefined))
      res.on('drain', more).on('close', () => closed.emit('closed'))
      more()
    })
    const cut = once(closed, 'closed')
    const attempt = await deliverTo(receiver.url)
    expect([attempt.answer?.status, attempt.answer?.body.length]).toEqual([200, 65_536])
    await cut
  })

  it('responds with bytes that are not UTF-8', async () => {
    const receiver = await capture((_req, res) => res.end(Buffer.from([0x61, 0xff, 0x62])))
    expect((await deliverTo(receiver.url)).answer?.body).toBe('a\ufffdb')
  })

  it.each<[string, (res: ServerResponse) => void]>([
    ['does not respond', () => {}],
    ['does not end its response', (res) => void res.write('half')],
  ])('%s within the configured timeout', async (_, respond) => {
    const receiver = await capture((_req, res) => respond(res))
    const settings = { notificationAttempts: 1, notificationTimeOutInSeconds: 1 }
    const attempt = await deliverTo(receiver.url, { settings })
    expect(attempt.error).toBe('no response within 1 s')
    expect(attempt).not.toHaveProperty('answer')
  })

  it('closes the connection after each response: the next delivery opens another one', async () => {
    const receiver = await capture((req, res) => res.end('taken').on('finish', () => req.socket.end()))
    const service = create([seed(FEATURE, { hookUrl: receiver.url })], { concurrency: 1 })
    const statuses: unknown[] = []
    for (let count = 0; count < 12; count++) {
      const [attempt] = await service.trigger(created)
      statuses.push(attempt?.answer?.status ?? attempt?.error)
    }
    expect(statuses).toEqual(Array(12).fill(200))
  })

  it('never completes the TLS handshake: the next delivery opens another connection', async () => {
    const connections: net.Socket[] = []
    const server = net.createServer((socket) => connections.push(socket)).listen(0, '127.0.0.1') // plain TCP, no TLS
    await once(server, 'listening')
    onTestFinished(() => {
      for (const socket of connections) socket.destroy()
      server.close()
    })
    const hookUrl = `https://127.0.0.1:${(server.address() as net.AddressInfo).port}/hook`
    const settings = { notificationAttempts: 1, notificationTimeOutInSeconds: 1 }
    const service = create([seed(FEATURE, { hookUrl })], { concurrency: 1, settings })
    for (const count of [1, 2]) {
      const [attempt] = await service.trigger(created)
      expect(attempt?.error).toBe('no response within 1 s')
      await vi.waitFor(() => expect(connections.length).toBe(count), { timeout: 60_000 })
    }
  })

  it('fails: other receivers still get their deliveries', async () => {
    const good = await capture()
    const bad = await capture((req) => req.socket.destroy())
    const urls = [bad.url, 'http://10.0.0.1/', good.url]
    const service = create(urls.map((hookUrl, i) => seed(FEATURE, { id: `w${i}`, name: `w${i}`, hookUrl })))
    const attempts = await service.trigger(created)
    expect(
      attempts.map(({ hookUrl, answer, error }) => [hookUrl, answer?.status, error !== undefined]),
    ).toEqual([
      [bad.url, undefined, true],
      ['http://10.0.0.1/', undefined, true],
      [good.url, 200, false],
    ])
  })
})

describe('the attempt log', () => {
  it('records the request, its time and its URL', async () => {
    const receiver = await capture()
    const attempt = await deliverTo(receiver.url, { clock: createManualClock(1730385704000) })
    expect(attempt).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      deliveryId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      webhookId: FEATURE.id,
      number: 1,
      milliseconds: expect.any(Number),
      hookUrl: receiver.url,
      sentAt: 1730385704000,
      request: {
        method: 'POST',
        headers: {
          host: new URL(receiver.url).host,
          'content-type': 'application/json',
          'x-service': expect.stringMatching(/^[0-9a-f]{64}$/),
          'content-length': String(receiver.requests[0]?.body.length),
        },
        body: new Uint8Array(receiver.requests[0]?.body ?? []),
      },
      answer: { status: 200, headers: expect.objectContaining({ 'content-length': '5' }), body: 'taken' },
    })
    expect(JSON.stringify(attempt), 'the key is not in it').not.toContain(FEATURE.signatureKey)
  })
})
