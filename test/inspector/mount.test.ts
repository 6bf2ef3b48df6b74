import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect, createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { serve as serveHono } from '@hono/node-server'
import createConnect from 'connect'
import express, { type RequestHandler } from 'express'
import { createInspector } from 'geohook/inspector'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serve } from '../helpers/served.ts'
import { createFakeSource, createItem, inspectable } from './helpers/fake-source.ts'

const listen = async (app: RequestListener): Promise<string> => (await serve(app)).url

/** All addresses that a page refers to. */
const addressesIn = (text: string): string[] =>
  [...text.matchAll(/(?:href|src|action)="([^"]*)"/g)].map(([, address = '']) =>
    address.replaceAll('&amp;', '&'),
  )

const secretIn = (text: string): string => /name="form-secret" value="(\w+)"/.exec(text)?.[1] ?? ''

/** Follows every link of the inspector from its start page. */
async function crawl(origin: string, base: string): Promise<string[]> {
  const seen = new Set<string>()
  const pending = [`${base}/`]
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (seen.has(path)) continue
    seen.add(path)
    const response = await fetch(origin + path)
    expect([path, response.status]).toEqual([path, 200])
    if (!response.headers.get('content-type')?.includes('html')) continue
    for (const address of addressesIn(await response.text())) {
      if (address.startsWith('#')) continue
      expect(address.startsWith(`${base}/`)).toBe(true)
      // Forms: their targets need parameters, or accept POST only.
      if (!/\/(clear|diff|resend)\b/.test(address)) pending.push(address)
    }
  }
  return [...seen]
}

describe('mounted in Express', () => {
  it.each(['', '/inspect', '/a/b'])('has all its links below %j', async (base) => {
    const app = express()
    app.use(
      base || '/',
      createInspector(inspectable(createFakeSource([createItem('d1'), createItem('d 2/é')]))),
    )
    const paths = await crawl(await listen(app), base)
    expect(paths.length).toBeGreaterThan(15)
  })

  it('works without a slash at the end of the mount path', async () => {
    const app = express().use('/inspect', createInspector(inspectable(createFakeSource())))
    const response = await fetch(`${await listen(app)}/inspect`)
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('href="/inspect/deliveries/d1"')
  })

  it('passes other paths on, and answers 404 if nothing follows', async () => {
    const app = express()
    app.use(createInspector(inspectable(createFakeSource())))
    app.get('/services/x', (_req, res) => void res.send('mine'))
    const origin = await listen(app)
    expect(await (await fetch(`${origin}/services/x`)).text()).toBe('mine')
    const bare = await listen(createInspector(inspectable(createFakeSource())))
    const response = await fetch(`${bare}/services/x`)
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
  })

  it.each<[string, RequestHandler]>([
    ['express.urlencoded()', express.urlencoded({ extended: true })],
    ['express.raw()', express.raw({ type: () => true })],
    ['no parser', (_req, _res, next) => next()],
  ])('reads forms after %s', async (_, parser) => {
    const source = createFakeSource()
    const origin = await listen(express().use(parser, createInspector(inspectable(source))))
    const secret = secretIn(await (await fetch(`${origin}/deliveries/d1`)).text())
    const body = new URLSearchParams({ 'form-secret': secret, note: 'a\r\nb' })
    const response = await fetch(`${origin}/deliveries/d1/resend`, {
      method: 'POST',
      body,
      redirect: 'manual',
    })
    expect(response.status).toBe(303)
    expect(source.ran).toEqual([['resend d1', expect.objectContaining({ note: 'a\nb' })]])
  })
})

it.each(['/inspect', '/'])('has all its links below the path %j in Connect', async (path) => {
  const app = createConnect().use(path, createInspector(inspectable(createFakeSource())))
  const paths = await crawl(await listen(app), path === '/' ? '' : path)
  expect(paths.length).toBeGreaterThan(15)
  const origin = await listen(app)
  const response = await fetch(`${origin}${path}?text=none`)
  expect(await response.text()).toContain(`href="${path === '/' ? '' : path}/assets/inspector.css"`)
})

it('works in Hono through fetch, with the address of the peer from Node', async () => {
  const page = createInspector(inspectable(createFakeSource()), { base: '/inspect' })
  const app = new Hono().all('/inspect/*', (context) => page.fetch(context.req.raw, context.env))
  const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false })
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const paths = await crawl(origin, '/inspect')
  expect(paths.length).toBeGreaterThan(10)
})

it('works over HTTP/2', async () => {
  const source = createFakeSource()
  const server = createServer(createInspector(inspectable(source)) as never).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = connect(origin)
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  const send = async (headers: OutgoingHttpHeaders, body?: URLSearchParams) => {
    const stream = client.request(headers)
    stream.end(body?.toString())
    const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    return { status: answer[':status'], stream }
  }
  const page = await send({ ':path': '/deliveries/d1' })
  const secret = secretIn(await text(page.stream))
  const form = { ':method': 'POST', origin, 'content-type': 'application/x-www-form-urlencoded' }
  const cleared = await send({ ...form, ':path': '/clear' }, new URLSearchParams({ 'form-secret': secret }))
  const refused = await send({ ...form, ':path': '/clear', origin: 'http://other.example' })
  const live = await send({ ':path': '/live' })
  expect([page.status, cleared.status, refused.status, live.status]).toEqual([200, 303, 403, 200])
  live.stream.close()
})

describe('a result of an action', () => {
  it('is shown once, and cannot be put into a link', async () => {
    const source = createFakeSource()
    const origin = await listen(createInspector(inspectable(source)))
    const secret = secretIn(await (await fetch(`${origin}/deliveries/d1`)).text())
    const body = new URLSearchParams({ 'form-secret': secret })
    const response = await fetch(`${origin}/deliveries/d1/resend`, { method: 'POST', body })
    expect(await response.text()).toContain('Sent again: 200.')
    expect(await (await fetch(response.url)).text()).not.toContain('Sent again')
    expect(await (await fetch(`${origin}/?notice=Your+key+is+lost`)).text()).not.toContain('Your key is lost')
  })

  it('leads to the list if the delivery is gone', async () => {
    const source = createFakeSource()
    const origin = await listen(createInspector(inspectable(source)))
    const page = await (await fetch(`${origin}/deliveries/d1/discard`)).text()
    expect(page).toContain('Discard this delivery?')
    const body = new URLSearchParams({ 'form-secret': secretIn(page) })
    const response = await fetch(`${origin}/deliveries/d1/discard`, { method: 'POST', body })
    expect(new URL(response.url).pathname).toBe('/')
    expect(await response.text()).toContain('Discarded.')
  })
})

describe('HEAD', () => {
  it('has no body, and does not open a stream', async () => {
    const source = createFakeSource()
    const origin = await listen(createInspector(inspectable(source)))
    for (const path of ['/', '/live', '/deliveries/d1/download']) {
      const response = await fetch(origin + path, { method: 'HEAD' })
      expect([response.status, await response.text()]).toEqual([200, ''])
    }
    expect(source.listeners).toBe(0)
  })
})

describe('the live stream', () => {
  it('removes its listener when the client disconnects', async () => {
    const source = createFakeSource()
    const origin = await listen(createInspector(inspectable(source)))
    const client = new AbortController()
    const response = await fetch(`${origin}/live`, { signal: client.signal })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toContain('connected')
    expect(source.listeners).toBe(1)
    client.abort()
    await expect.poll(() => source.listeners, { timeout: 60_000 }).toBe(0)
  })

  it('sends the ids of changed deliveries', async () => {
    const source = createFakeSource([createItem('d1'), createItem('d2')])
    const origin = await listen(createInspector(inspectable(source)))
    const response = await fetch(`${origin}/live`)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    source.emit(['d1', 'd2', 'gone'])
    while (!text.includes('event: rows')) text += (await reader?.read())?.value ?? ''
    const data = JSON.parse(/^data: (.*)$/m.exec(text.slice(text.indexOf('event: rows')))?.[1] ?? '')
    expect(data).toEqual(['d1', 'd2', 'gone'])
    await reader?.cancel()
  })

  it('joins a burst of changes into few messages', async () => {
    const source = createFakeSource(Array.from({ length: 500 }, (_, i) => createItem(`d${i}`)))
    const origin = await listen(createInspector(inspectable(source)))
    const response = await fetch(`${origin}/live`)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (const { id } of source.items) source.emit([id])
    let text = ''
    while (!text.includes('"d499"')) text += (await reader?.read())?.value ?? ''
    expect(text.match(/event: rows/g)?.length).toBeLessThan(5)
    await reader?.cancel()
  })
})
