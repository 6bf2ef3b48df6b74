import { once } from 'node:events'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { createInspector, type InspectorOptions } from 'geohook/inspector'
import { describe, expect, it } from 'vitest'
import { serve } from '../helpers/served.ts'
import { createFakeSource, type FakeSource, inspectable } from './helpers/fake-source.ts'

const TOKEN = 'a-token-of-24-characters'

interface Reply {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** Sends a request with exactly these headers, which `fetch` would not. */
async function send(
  port: number,
  path: string,
  {
    method = 'GET',
    headers = {},
    form,
    host = '127.0.0.1',
  }: { method?: string; headers?: Record<string, string>; form?: Record<string, string>; host?: string } = {},
): Promise<Reply> {
  const body = form && new URLSearchParams(form).toString()
  const type = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
  const req = httpRequest({
    port,
    host,
    path,
    method: form ? 'POST' : method,
    headers: { ...type, ...headers },
  })
  req.end(body)
  const [res] = await once(req, 'response')
  let text = ''
  for await (const chunk of res) text += chunk
  return { status: res.statusCode, headers: res.headers, text }
}

const secretIn = (text: string): string => /name="form-secret" value="(\w+)"/.exec(text)?.[1] ?? ''

async function start(options?: InspectorOptions): Promise<{ port: number; source: FakeSource }> {
  const source = createFakeSource()
  return { port: (await serve(createInspector(inspectable(source), options))).port, source }
}

describe('without a token or a login', () => {
  it('answers requests from this machine', async () => {
    const { port } = await start()
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, '127.8.9.1', `[::1]:${port}`])
      expect((await send(port, '/', { headers: { host } })).status).toBe(200)
  })

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example:4000',
    '0.0.0.0',
    '127.0.0.1:80@evil.example',
    '127.0.0.256',
    'evil.example#.localhost',
  ])('refuses the host %j, which may be a name that an attacker points at this machine', async (host) => {
    const { port, source } = await start()
    for (const path of ['/', '/deliveries/d1', '/deliveries/d1/download', '/live', '/assets/inspector.js']) {
      const { status, text } = await send(port, path, { headers: { host } })
      expect(status).toBe(403)
      expect(text).not.toContain('FeaturesUpdated')
    }
    expect(source.listeners).toBe(0)
  })

  it.each([
    'forwarded',
    'x-forwarded-for',
    'x-original-forwarded-for',
    'x-forwarded-host',
    'x-original-host',
    'x-real-ip',
    'client-ip',
    'x-cluster-client-ip',
    'x-azure-clientip',
    'wl-proxy-client-ip',
    'x-appengine-user-ip',
    'x-envoy-external-address',
    'cf-ray',
    'cdn-loop',
    'tailscale-user-login',
    'via',
  ])('refuses a request with the header %s, which a proxy has passed on', async (name) => {
    const { port } = await start()
    expect((await send(port, '/', { headers: { [name]: '127.0.0.1' } })).status).toBe(403)
  })

  it('refuses a request in HTTP/1.0, which browsers do not send, but nginx does', async () => {
    const { port } = await start()
    const socket = connect(port, '127.0.0.1')
    socket.end(`GET / HTTP/1.0\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`)
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 /)
  })

  it('refuses a peer on another address, whatever its host header says', async () => {
    const handler = createInspector(inspectable(createFakeSource()))
    const { port } = await serve((req, res) => {
      Object.defineProperty(req.socket, 'remoteAddress', { value: '192.0.2.7' })
      return handler(req, res)
    })
    expect((await send(port, '/', { headers: { host: `127.0.0.1:${port}` } })).status).toBe(403)
  })

  it('refuses web requests whose peer is unknown', async () => {
    const handler = createInspector(inspectable(createFakeSource()))
    const request = (): Request => new Request('http://127.0.0.1:4000/')
    expect((await handler.fetch(request())).status).toBe(403)
    expect((await handler.fetch(request(), { remoteAddr: { hostname: '192.0.2.7' } })).status).toBe(403)
    expect((await handler.fetch(request(), { remoteAddr: { hostname: '127.0.0.1' } })).status).toBe(200)
  })
})

describe('other sites', () => {
  it.each([
    ['another origin', { origin: 'http://evil.example' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['an opaque origin', { origin: 'null' }],
    ['an invalid origin', { origin: '%%%' }],
    ['a cross-site subresource', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
    ['a same-site subresource', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }],
  ])('refuses requests from %s', async (_, headers) => {
    const { port, source } = await start()
    const secret = secretIn((await send(port, '/deliveries/d1')).text)
    expect(secret).toMatch(/^\w{64}$/)
    expect((await send(port, '/deliveries/d1', { headers: headers as Record<string, string> })).status).toBe(
      403,
    )
    const posted = await send(port, '/deliveries/d1/resend', {
      headers: headers as Record<string, string>,
      form: { 'form-secret': secret },
    })
    expect(posted.status).toBe(403)
    expect(source.ran).toEqual([])
  })

  it('refuses a cross-site form that opens as a page, but follows a cross-site link', async () => {
    const { port, source } = await start()
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
    expect((await send(port, '/deliveries/d1', { headers })).status).toBe(200)
    const secret = secretIn((await send(port, '/deliveries/d1')).text)
    expect(
      (await send(port, '/deliveries/d1/resend', { headers, form: { 'form-secret': secret } })).status,
    ).toBe(403)
    expect(source.ran).toEqual([])
  })

  it.each([
    ['is missing', {}],
    ['is wrong', { 'form-secret': '0'.repeat(64) }],
    ['is that of another inspector', { 'form-secret': 'other' }],
  ])('refuses a form whose secret %s', async (what, form) => {
    const { port, source } = await start()
    const other = what.includes('another')
      ? secretIn((await send((await start()).port, '/deliveries/d1')).text)
      : undefined
    const values = other === undefined ? form : { 'form-secret': other }
    for (const path of ['/deliveries/d1/resend', '/deliveries/d1/discard', '/clear'])
      expect((await send(port, path, { form: { x: '1', ...values } })).status).toBe(403)
    expect(source.ran).toEqual([])
    expect(source.items).toHaveLength(1)
  })

  it('refuses bodies that no form sends, and forms that are too large', async () => {
    const { port, source } = await start()
    const secret = secretIn((await send(port, '/deliveries/d1')).text)
    const json = await send(port, '/deliveries/d1/resend', {
      form: { 'form-secret': secret },
      headers: { 'content-type': 'application/json' },
    })
    expect(json.status).toBe(415)
    const large = await send(port, '/deliveries/d1/resend', {
      form: { 'form-secret': secret, a: 'x'.repeat(4 * 1024 * 1024) },
    })
    expect(large.status).toBe(413)
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`f${i}`, '']))
    expect(
      (await send(port, '/deliveries/d1/resend', { form: { 'form-secret': secret, ...many } })).status,
    ).toBe(413)
    expect(source.ran).toEqual([])
  })

  it('changes nothing on GET', async () => {
    const { port, source } = await start()
    expect((await send(port, '/deliveries/d1/discard')).status).toBe(200)
    expect((await send(port, '/clear')).status).toBe(404)
    expect(source.ran).toEqual([])
    expect(source.items).toHaveLength(1)
  })
})

it('sends headers on every response that keep other sites from framing, reading and caching it', async () => {
  const { port } = await start()
  for (const path of [
    '/',
    '/deliveries/d1',
    '/deliveries/d1/download',
    '/deliveries/none',
    '/nothing',
    '/assets/inspector.js',
    '/assets/inspector.css',
    '/assets/icon.svg',
  ]) {
    const { headers } = await send(port, path)
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'same-origin',
    })
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|\*|data:|https?:/)
  }
})

describe('with a token', () => {
  it('shows nothing but the login page before the login', async () => {
    const { port, source } = await start({ token: TOKEN })
    for (const path of [
      '/',
      '/deliveries/d1',
      '/deliveries/d1/download',
      '/deliveries/d1/body',
      '/diff?a=d1&b=d1',
      '/live',
      '/login',
    ]) {
      const { status, text, headers } = await send(port, path, { headers: { host: 'inspector.example' } })
      expect(status).toBe(401)
      expect(headers['content-type']).toContain('text/html')
      expect(text).toContain('Log in')
      expect(text).not.toMatch(/FeaturesUpdated|form-secret|a-token/)
    }
    expect(source.listeners).toBe(0)
    const posted = await send(port, '/deliveries/d1/resend', { form: { 'form-secret': 'x' } })
    expect(posted.status).toBe(401)
    expect(source.ran).toEqual([])
  })

  it('logs in with the token, returns to the requested page, and logs out', async () => {
    const { port, source } = await start({ token: TOKEN })
    const wrong = await send(port, '/login', { form: { token: `${TOKEN}x`, to: '/deliveries/d1' } })
    expect([wrong.status, wrong.headers['set-cookie']]).toEqual([401, undefined])
    expect(wrong.text).not.toContain(TOKEN)
    const page = await send(port, '/deliveries/d1')
    const to = /name="to" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
    const login = await send(port, '/login', { form: { token: TOKEN, to } })
    expect([login.status, login.headers.location]).toEqual([303, '/deliveries/d1'])
    const set = login.headers['set-cookie']?.[0] ?? ''
    expect(set).toMatch(/^geohook-inspector=\w{64}; HttpOnly; SameSite=Strict; Path=\/$/)
    expect(set).not.toContain(TOKEN)
    const cookie = set.split(';')[0] ?? ''
    const shown = await send(port, '/deliveries/d1', { headers: { cookie: `other=1; ${cookie}` } })
    expect(shown.status).toBe(200)
    expect(shown.text).not.toContain(TOKEN)
    const form = { 'form-secret': secretIn(shown.text) }
    expect((await send(port, '/deliveries/d1/resend', { headers: { cookie }, form })).status).toBe(303)
    expect(source.ran).toHaveLength(1)
    const logout = await send(port, '/logout', { headers: { cookie }, form })
    expect(logout.headers['set-cookie']?.[0]).toContain('Max-Age=0')
    expect((await send(port, '/', { headers: { cookie: 'geohook-inspector=' } })).status).toBe(401)
  })

  it.each([
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/a\r\nset-cookie: x=1',
    'javascript:1',
  ])('does not redirect to %j after the login', async (to) => {
    const { port } = await start({ token: TOKEN })
    const { headers } = await send(port, '/login', { form: { token: TOKEN, to } })
    expect(headers.location).toBe('/')
  })

  it('accepts the token as bearer token, without a form secret', async () => {
    const { port, source } = await start({ token: TOKEN })
    const headers = { authorization: `Bearer ${TOKEN}` }
    expect((await send(port, '/deliveries/d1', { headers })).status).toBe(200)
    expect((await send(port, '/deliveries/d1/resend', { headers, form: { a: '1' } })).status).toBe(303)
    expect(source.ran).toHaveLength(1)
    expect((await send(port, '/', { headers: { authorization: 'Bearer wrong' } })).status).toBe(401)
  })

  it('never accepts the token in a URL', async () => {
    const { port } = await start({ token: TOKEN })
    expect((await send(port, `/?token=${TOKEN}`)).status).toBe(401)
  })

  it('accepts the cookie of another process with the same token, and not that of another token', async () => {
    const [a, b, c] = [
      await start({ token: TOKEN }),
      await start({ token: TOKEN }),
      await start({ token: `${TOKEN}2` }),
    ]
    const login = await send(a.port, '/login', { form: { token: TOKEN } })
    const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    expect((await send(b.port, '/', { headers: { cookie } })).status).toBe(200)
    expect((await send(c.port, '/', { headers: { cookie } })).status).toBe(401)
  })

  it('marks the cookie as secure over TLS', async () => {
    const handler = createInspector(inspectable(createFakeSource()), { token: TOKEN })
    const body = new URLSearchParams({ token: TOKEN })
    const response = await handler.fetch(
      new Request('https://inspector.example/login', { method: 'POST', body }),
    )
    expect(response.headers.get('set-cookie')).toContain('; Secure')
  })
})

describe("with the user's own login", () => {
  it('asks it for every request, and answers other machines', async () => {
    let allowed: unknown = true
    const seen: object[] = []
    const { port } = await start({
      authorize(request) {
        seen.push(request)
        return allowed as boolean
      },
    })
    const headers = { host: 'inspector.example', 'x-forwarded-for': '192.0.2.7' }
    expect((await send(port, '/', { headers })).status).toBe(200)
    expect(seen[0]).toHaveProperty('url', '/')
    for (const answer of [false, undefined, 'yes', 1, {}]) {
      allowed = answer
      expect((await send(port, '/deliveries/d1', { headers })).status).toBe(403)
    }
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('a secret')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('a secret')
      },
    ],
  ])('refuses the request if it %s', async (_, authorize) => {
    const { port } = await start({ authorize })
    const { status, text } = await send(port, '/')
    expect(status).toBe(403)
    expect(text).not.toContain('a secret')
  })
})

describe('options', () => {
  it.each([
    [{ token: 'short' }, 'at least 16 characters'],
    [{ token: '' }, 'token is empty'],
    [{ token: 1 }, 'token must be a string'],
    [{ authorize: true }, 'authorize must be a function'],
    [{ base: 'inspect' }, 'base must be a path'],
    [{ base: '//evil.example' }, 'base must be a path'],
    [{ base: '/a/../b' }, 'base must be a path'],
    [{ base: '/a;Domain=x' }, 'base must be a path'],
    [{ tokn: TOKEN }, 'did you mean token?'],
  ])('rejects %j', (options, message) => {
    const create = (): unknown =>
      createInspector(inspectable(createFakeSource()), options as InspectorOptions)
    expect(create).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
    )
  })

  it.each([undefined, null, 1, {}, [], () => {}])('rejects %j, which cannot be inspected', (inspected) => {
    expect(() => createInspector(inspected as never)).toThrow(
      expect.objectContaining({ code: 'config_invalid' }),
    )
  })
})
