import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createReceiver } from 'geohook'
import { createMemoryInbox } from 'geohook/inbox'
import { createInspector, createRequestLog } from 'geohook/inspector'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { sendRequest } from '../../src/shared/http.node.ts'
import { fill, handleAll, ONE_ATTEMPT, payloads } from '../helpers/dead-letters.ts'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'
import { createFakeSource, inspectable } from './helpers/fake-source.ts'
import { noticeIn, openPage } from './helpers/inbox-page.ts'

const questionIn = (text: string): string => /name="asked" value="([\w-]+)"/.exec(text)?.[1] ?? ''

/** An inbox with one dead letter. */
async function openDead() {
  const inbox = createMemoryInbox(ONE_ATTEMPT)
  const add = async (count: number): Promise<string[]> => {
    const ids = await fill(inbox, payloads(count))
    await handleAll(inbox, 'the map is away')
    return ids
  }
  const [id = ''] = await add(1)
  return { inbox, add, id, page: await openPage(inbox) }
}

describe('a question', () => {
  it('is asked again if more dead letters have arrived', async () => {
    const { inbox, add, page } = await openDead()
    const { text } = await page.get('/inbox/discard-dead')
    expect(text).toContain('Discard 1 dead letter?')
    const asked = questionIn(text)
    await add(2)
    const again = await page.post('/inbox/discard-dead', { asked })
    expect([again.status, again.text.includes('Discard 3 dead letters?')]).toEqual([400, true])
    expect((await inbox.stats()).dead).toBe(3)
    const answer = await page.post('/inbox/discard-dead', { asked: questionIn(again.text) })
    expect(noticeIn(answer)).toBe('Discarded 3 dead letters.')
  })

  it('is asked again if the state of the delivery has changed', async () => {
    const { inbox, id, page } = await openDead()
    const path = `/deliveries/${id}/discard`
    const asked = questionIn((await page.get(path)).text)
    await inbox.retry(id)
    const again = await page.post(path, { asked })
    expect(again.text).toContain('Discard this waiting delivery?')
    expect((await inbox.stats()).waiting).toBe(1)
    await page.post(path, { asked: questionIn(again.text) })
    expect((await inbox.stats()).waiting).toBe(0)
  })
})

it('a page that does not read its stream gets a new one, in place of a longer queue', async () => {
  const source = createFakeSource()
  const { port } = await serve(createInspector(inspectable(source)))
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`GET /live HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`)
  socket.pause()
  await vi.waitFor(() => expect(source.listeners).toBe(1), { timeout: 60_000 })
  source.emit(Array.from({ length: 5_001 }, (_, index) => `d${index}`))
  expect(source.listeners).toBe(0)
  socket.destroy()
})

describe('a handler that changes its delivery', () => {
  it.each<[name: string, change: (event: never, delivery: never) => void]>([
    ['removes the webhook', (event: { webhook?: unknown }) => delete event.webhook],
    ['removes the events', (_: never, delivery: { events?: unknown }) => delete delivery.events],
    [
      'removes the change types',
      (_: never, delivery: { changeTypes?: unknown }) => delete delivery.changeTypes,
    ],
    [
      'puts objects in place of texts',
      (event: { webhook: { name: unknown } }) => (event.webhook.name = Symbol('x')),
    ],
    ['puts null in place of an event', (_: never, { events }: { events: unknown[] }) => (events[0] = null)],
  ])('%s: the observer is called, and the page works', async (_, change) => {
    const handled = vi.fn()
    const options = { signatureKey: KEY, observer: { handled } }
    const requestLog = createRequestLog(options)
    const receiver = createReceiver({ ...options, observer: requestLog.observer }).on('*', change as never)
    const body = payloads(1)[0] as string
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }
    const { url } = await serve(createInspector(requestLog))
    await receiver.fetch(new Request(`${url}/hook`, { method: 'POST', headers, body }))
    expect(handled).toHaveBeenCalledTimes(1)
    const page = await fetch(url)
    expect([page.status, (await page.text()).includes('handled')]).toEqual([200, true])
  })
})

it('the curl command of a request with a whole URL has one address', async () => {
  const requestLog = createRequestLog({ signatureKey: KEY })
  const receiver = createReceiver({ signatureKey: KEY, observer: requestLog.observer }).on('*', () => {})
  await receiver.fetch(new Request('https://hooks.example/hook?x=1', { method: 'POST', body: '{}' }))
  const { url } = await serve(createInspector(requestLog))
  const [, id] = /href="\/deliveries\/([^"/?]+)/.exec(await (await fetch(url)).text()) ?? []
  expect(await (await fetch(`${url}/deliveries/${id}/curl`)).text()).toContain(
    'http://receiver.example/hook?x=1',
  )
})

describe('resending', () => {
  /** Starts a server that answers with these bytes and then ends the connection in its own way. */
  async function answer(bytes: string, end: (socket: Socket) => void): Promise<URL> {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write(bytes, () => end(socket)))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  }
  const request = { method: 'POST', headers: [], body: Buffer.from('x') }
  const UNBOUNDED = 'HTTP/1.1 200 OK\r\n\r\nhello'

  it('fails if the response without a length is reset, or does not end', async () => {
    const reset = await answer(UNBOUNDED, (socket) => void setTimeout(() => socket.resetAndDestroy(), 20))
    await expect(sendRequest(reset, request)).rejects.toMatchObject({ reason: 'unreachable' })
    const silent = await answer(UNBOUNDED, () => {})
    await expect(sendRequest(silent, request, { timeout: 100 })).rejects.toThrow('no response within 0.1 s')
    const ended = await answer(UNBOUNDED, (socket) => void socket.end())
    expect(String((await sendRequest(ended, request)).body)).toBe('hello')
  })

  it('fails if the method is CONNECT', async () => {
    const url = await answer('HTTP/1.1 200 OK\r\n\r\n', () => {})
    await expect(sendRequest(url, { ...request, method: 'CONNECT' })).rejects.toMatchObject({
      reason: 'unreachable',
    })
  })
})

it('a response that other code has sent already does not end the process', async () => {
  const page = createInspector(inspectable(createFakeSource()), {
    authorize: async () => {
      answered()
      return true
    },
  })
  let answered = (): void => {}
  const done = vi.fn()
  const { url } = await serve((req, res) => {
    answered = () => res.end('too late')
    void page(req, res).then(done, done)
  })
  expect(await (await fetch(url)).text()).toBe('too late')
  await vi.waitFor(() => expect(done).toHaveBeenCalledWith(undefined), { timeout: 60_000 })
})

it('a partly hidden header is not sent again, and not in the curl command', async () => {
  const seen: (string | undefined)[] = []
  const target = await serve((req, res) => {
    seen.push(req.headers['x-half']?.toString(), req.headers['x-whole']?.toString())
    res.end()
  })
  const requestLog = createRequestLog({ signatureKey: KEY }, { resendTo: target.url })
  const receiver = createReceiver({ signatureKey: KEY, observer: requestLog.observer }).on('*', () => {})
  const body = payloads(1)[0] as string
  const headers = {
    'content-type': JSON_TYPE,
    'x-service': signatureOf(body),
    'x-half': `k=${KEY}`,
    'x-whole': 'a',
  }
  await receiver.fetch(new Request('http://gis.example/hook', { method: 'POST', headers, body }))
  const { url } = await serve(createInspector(requestLog))
  const list = await (await fetch(url)).text()
  const [, id] = /href="\/deliveries\/([^"/?]+)/.exec(list) ?? []
  expect(await (await fetch(`${url}/deliveries/${id}/curl`)).text()).not.toContain('x-half')
  const [, secret = ''] = /name="form-secret" value="(\w+)"/.exec(list) ?? []
  const form = new URLSearchParams({ 'form-secret': secret, to: target.url })
  await fetch(`${url}/deliveries/${id}/resend`, { method: 'POST', body: form })
  expect(seen).toEqual([undefined, 'a'])
})
