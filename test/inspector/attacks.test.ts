import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { arcgis, createReceiver } from 'geohook'
import { createInspector, createRequestLog, type InspectorOptions } from 'geohook/inspector'
import { expect, it } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { hasProgram } from '../helpers/programs.ts'
import { serve } from '../helpers/served.ts'
import { warningsOf } from '../helpers/warnings.ts'
import { createFakeSource, createItem, inspectable } from './helpers/fake-source.ts'
import { CREATED, lastPath, mock, open, receiver, submit } from './helpers/mock-support.ts'
import { createPage, onlyId, quiet, startInspected, textOf } from './helpers/request-log-support.ts'

const TOKEN = 'a-token-of-24-characters'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const listen = async (listener: RequestListener): Promise<string> => (await serve(listener)).url

const show = (items: Parameters<typeof createFakeSource>[0], options?: InspectorOptions): Promise<string> =>
  listen(createInspector(inspectable(createFakeSource(items)), options))

const withBody = (id: string, body: string, changes: object = {}) => {
  const { request } = createItem(id)
  const bytes = new TextEncoder().encode(body)
  return createItem(id, { size: bytes.length, request: { ...request, body: bytes, ...changes } })
}

const get = async (url: string): Promise<string> => (await fetch(url)).text()

it('a path that no header can contain does not end the process after a login', async () => {
  const origin = await show([], { token: TOKEN })
  const body = new URLSearchParams({ token: TOKEN, to: '/\u{1f600}' }).toString()
  const { status, headers } = await send(`${origin}/login`, { headers: FORM, body })
  expect([status, headers.location]).toEqual([303, '/'])
})

it('a client that disconnects while it sends a form causes no warning', async () => {
  let ended: () => void
  const hasEnded = new Promise<void>((resolve) => {
    ended = resolve
  })
  const handle = createInspector(inspectable(createFakeSource()), { token: TOKEN })
  const { port } = new URL(await listen((req, res) => void handle(req, res).then(() => ended())))
  const warnings = await warningsOf(async () => {
    const socket: Socket = connect(Number(port), '127.0.0.1')
    socket.write(
      `POST /login HTTP/1.1\r\nhost: a\r\ncontent-type: ${FORM['content-type']}\r\ncontent-length: 9\r\n\r\na`,
      () => socket.destroy(),
    )
    await hasEnded
  })
  expect(warnings).toEqual([])
})

it('a form without its secret is refused if the browser sends a user name and a password on its own', async () => {
  const origin = await show([createItem('d1')], { authorize: () => true })
  const headers = { ...FORM, authorization: 'Basic dXNlcjpwYXNz' }
  expect((await send(`${origin}/deliveries/d1/resend`, { headers, body: 'a=1' })).status).toBe(403)
})

it.each(['x-forwarded-proto', 'cf-connecting-ip', 'x-client-ip'])(
  'without a token, a request with the header %s of a proxy is refused',
  async (name) => {
    const origin = await show([])
    expect((await fetch(origin, { headers: { [name]: '192.0.2.1' } })).status).toBe(403)
  },
)

it('only a limited number of pages get live updates, until others are closed', async () => {
  const source = createFakeSource()
  const origin = await listen(createInspector(inspectable(source)))
  const stop = new AbortController()
  const opened = Array.from({ length: 32 }, () => fetch(`${origin}/live`, { signal: stop.signal }))
  for (const { status } of await Promise.all(opened)) expect(status).toBe(200)
  expect((await fetch(`${origin}/live`)).status).toBe(503)
  stop.abort()
  await expect.poll(() => source.listeners, { timeout: 60_000 }).toBe(0)
  const again = new AbortController()
  expect((await fetch(`${origin}/live`, { signal: again.signal })).status).toBe(200)
  again.abort()
})

it('the signature tab shows all values of a repeated signature, and one in a form field', async () => {
  const signature = 'ab'.repeat(32)
  const repeated = { headers: ['1', '2'].map((end) => ['x-service', `${signature.slice(1)}${end}`]) }
  const contentType = 'application/x-www-form-urlencoded'
  const inField = { headers: [['content-type', contentType]], contentType }
  const form = `payload=%7B%7D&x-service=${signature}`
  const origin = await show([withBody('a', '{}', repeated), withBody('b', form, inField)])
  const [a, b] = await Promise.all(
    ['a', 'b'].map(async (id) => textOf(await get(`${origin}/deliveries/${id}/signature`))),
  )
  expect(a).toContain('130 characters, neither 64 hex digits')
  expect(b).toContain(`${signature} in a form field`)
  expect(b).toContain('hex, 64 digits')
})

it('the curl command runs nothing that a sender puts into the method of a request', async () => {
  const options = { signatureKey: KEY, observer: quiet }
  const requestLog = createRequestLog(options)
  const hook = createReceiver({ ...options, observer: requestLog.observer }).on('*', () => {})
  await hook.fetch(new Request('http://a.example/hook', { method: '`id`' }))
  const page = createPage(await listen(createInspector(requestLog)))
  const { text } = await page.get(`/deliveries/${await onlyId(page)}/curl`)
  expect(textOf(text)).toContain("curl -X '`id`' ")
})

it.skipIf(!hasProgram('curl'))(
  'the curl command sends one request, with the same path, and headers without a value or a type',
  async () => {
    const seen: [url: string | undefined, headers: object][] = []
    const target = await listen((req, res) => {
      const { 'x-empty': empty, 'content-type': type } = req.headers
      seen.push([req.url, { empty, type }])
      res.end()
    })
    const item = withBody('d1', 'a', { headers: [['x-empty', '']] })
    const origin = await show([{ ...item, request: { ...item.request, address: `${target}/a/../b?[1-3]` } }])
    const [, markup = ''] =
      /<pre[^>]*id="curl"[^>]*>([\s\S]*?)<\/pre>/.exec(await get(`${origin}/deliveries/d1/curl`)) ?? []
    const command = markup.replaceAll('&#39;', "'").replaceAll('&amp;', '&')
    const child = spawn('sh', ['-c', command])
    await once(child, 'close')
    expect(seen).toEqual([['/a/../b?[1-3]', { empty: '', type: undefined }]])
  },
)

it('large bodies are compared without indenting them', async () => {
  const bomb = `["${'\\n'.repeat(4_000_000)}"]`
  const origin = await show([withBody('a', bomb), withBody('b', `${bomb} `)])
  const text = await get(`${origin}/diff?a=a&b=b`)
  expect(text).toContain(`The bodies differ first at offset ${bomb.length}`)
})

it('deliveries with an invalid time are shown', async () => {
  const time = new Date(Number.NaN)
  const origin = await show([createItem('a', { time }), createItem('b', { time })])
  for (const path of ['/', '/deliveries/a', '/diff?a=a&b=b'])
    expect((await fetch(origin + path)).status, path).toBe(200)
})

it('a warning about a failed page contains no line of the error text', async () => {
  const source = createFakeSource()
  source.list = async () => {
    throw new Error('failed\n    at postgres://user:password@host')
  }
  const origin = await listen(createInspector(inspectable(source)))
  const warnings = await warningsOf(async () => void (await get(origin)))
  expect(warnings).toHaveLength(1)
  expect(String(warnings[0])).not.toContain('password')
})

it('resending a handshake shows no signature', async () => {
  const { hook, page } = await startInspected({ profile: arcgis })
  await send(`${hook}?crc_token=abc`, { method: 'GET' })
  const { text } = await page.submit(`/deliveries/${await onlyId(page)}/resend`, {
    to: `${hook}?crc_token=abc`,
  })
  expect(text).toContain('answered 200')
  expect(text).not.toContain('response_token')
})

it('a body whose line breaks a form would change is edited in hex', async () => {
  const { hook, page } = await startInspected()
  for (const body of ['{\r\n"a":\n1}', '{\r"a":1}']) {
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf('x') }
    await send(hook, { headers, body: Buffer.from(body) })
    const [id] = await page.ids()
    expect((await page.get(`/deliveries/${id}/edit`)).text).toContain(Buffer.from(body).toString('hex'))
  }
})

it.each(['wrong_key', 'altered', 'unsigned'] as const)(
  'the mock explains a resent delivery with the fault %s that changed its bytes',
  async (fault) => {
    const service = await mock(await receiver())
    service.faults.add({ fault, times: 1 })
    await service.trigger(CREATED)
    await submit(service, `${lastPath(service)}/resend`)
    expect((await open(service, lastPath(service))).text).toContain(`The mock injected the fault ${fault}`)
  },
)
