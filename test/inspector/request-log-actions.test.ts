import { describe, expect, it, onTestFinished } from 'vitest'
import { base64Of, FORM_TYPE, JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { startTarget, type Target, unusedUrl } from '../helpers/target.ts'
import { onlyId, startInspected, textOf } from './helpers/request-log-support.ts'

const body = payloadOf('FeaturesCreated')
const signed = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }

async function startRecordingTarget(...given: Parameters<typeof startTarget>): Promise<Target> {
  const target = await startTarget(...given)
  onTestFinished(target.close)
  return target
}

/** Value of the form field for the address. */
const suggested = (text: string): string | undefined => /id="to" name="to" value="([^"]*)"/.exec(text)?.[1]

describe('sending a recorded request again', () => {
  it('sends the same bytes and end-to-end headers, without redacted ones', async () => {
    const target = await startRecordingTarget((res) => res.writeHead(202).end('<b>thanks</b>'))
    const { hook, page } = await startInspected()
    const bytes = Buffer.concat([Buffer.from(body), Buffer.from([0xff, 0x00, 0x0d, 0x0a])])
    const headers = {
      ...signed,
      'X-Twice': ['1', '2'],
      'x-latin': '\u00e9',
      authorization: 'Bearer of the application',
      cookie: 'session=1',
      secret: 'another key',
      te: 'trailers',
    }
    await send(hook, { headers, body: bytes })
    const id = await onlyId(page)
    const { text } = await page.submit(`/deliveries/${id}/resend`, { to: `${target.url}/other?x=1` })
    expect(text).toContain(`${target.url}/other?x=1 answered 202 in `)
    expect(text).toContain(': &lt;b&gt;thanks&lt;/b&gt;')
    const [request] = target.requests
    expect(request).toMatchObject({ method: 'POST', url: '/other?x=1' })
    expect(request?.body.equals(bytes)).toBe(true)
    expect(request?.headers).toEqual({
      host: new URL(target.url).host,
      ...signed,
      'x-twice': '1, 2',
      'x-latin': '\u00e9',
      'content-length': String(bytes.length),
      connection: 'close',
    })
  })

  it('says so if the target refuses, and does not follow a redirect', async () => {
    const target = await startRecordingTarget((res, { url }) =>
      res.writeHead(url === '/away' ? 302 : 200, { location: '/home' }).end(),
    )
    const { hook, page } = await startInspected()
    await send(hook, { headers: signed, body })
    const path = `/deliveries/${await onlyId(page)}/resend`
    const { text } = await page.submit(path, { to: `${target.url}/away` })
    expect(text).toMatch(/class="notice bad"[^>]*>[^<]*answered 302/)
    expect(target.requests).toHaveLength(1)
  })

  it.each([
    ['ftp://example.com/', 'the address must be a URL that begins with http:// or https://'],
    ['', 'the address must be a URL that begins with http:// or https://'],
    ['http://user:password@127.0.0.1/', 'the address must not contain a user name or a password'],
  ])('shows the form again for the address %s', async (to, message) => {
    const { hook, page } = await startInspected()
    await send(hook, { headers: signed, body })
    const { status, text } = await page.submit(`/deliveries/${await onlyId(page)}/resend`, { to })
    expect(status).toBe(400)
    expect(textOf(text)).toContain(message)
    expect(suggested(text)).toBe(to)
  })

  it('shows the form again if the address is unreachable', async () => {
    const { hook, page } = await startInspected()
    await send(hook, { headers: signed, body })
    const to = await unusedUrl()
    const { status, text } = await page.submit(`/deliveries/${await onlyId(page)}/resend`, { to })
    expect(status).toBe(400)
    expect(textOf(text)).toContain(`cannot reach ${to}: connection refused. Is it running`)
  })

  it('suggests resendTo with the path of the request, then the address that was used last', async () => {
    const target = await startRecordingTarget()
    const { hook, page } = await startInspected({ resendTo: target.url })
    await send(`${hook}?a=1`, { headers: { ...signed, host: 'attacker.example' }, body })
    const path = `/deliveries/${await onlyId(page)}/resend`
    expect(suggested((await page.get(path)).text)).toBe(`${target.url}/hook?a=1`)
    await page.submit(path, { to: `${target.url}/other` })
    expect(suggested((await page.get(path)).text)).toBe(`${target.url}/other`)
    await page.submit(path, { to: `${target.url}/hook?a=1` })
    await send(`${hook}?b=2`, { headers: signed, body })
    const [next] = await page.ids()
    expect(suggested((await page.get(`/deliveries/${next}/resend`)).text)).toBe(`${target.url}/hook?b=2`)
  })

  it('hides a key in the suggested address, and sends the request to the address with the key', async () => {
    const target = await startRecordingTarget()
    const { hook, page } = await startInspected({ resendTo: `${target.url}/first?key=${KEY}` })
    await send(hook, { headers: signed, body })
    const path = `/deliveries/${await onlyId(page)}`
    const submitShown = async (form: string, shown: string): Promise<void> => {
      for (const tab of ['resend', 'edit', 'curl'])
        expect((await page.get(`${path}/${tab}`)).text).not.toContain(KEY)
      expect(suggested((await page.get(`${path}/${form}`)).text)).toBe(shown)
      await page.submit(`${path}/${form}`, { to: shown, body, 'content-type': JSON_TYPE })
    }
    await submitShown('resend', `${target.url}/first?key=***`)
    await page.submit(`${path}/resend`, { to: `${target.url}/second?key=${KEY}` })
    await submitShown('resend', `${target.url}/second?key=***`)
    await submitShown('edit', `${target.url}/second?key=***`)
    const urls = ['first', 'second', 'second', 'second'].map((name) => `/${name}?key=${KEY}`)
    expect(target.requests.map(({ url }) => url)).toEqual(urls)
  })

  it('reads only the first part of a large response', async () => {
    const target = await startRecordingTarget((res) => {
      // Never ends: the inspector closes the connection.
      const write = (): void => {
        while (res.write('x'.repeat(16 * 1024)));
        res.once('drain', write)
      }
      write()
    })
    const { hook, page } = await startInspected()
    await send(hook, { headers: signed, body })
    const { text } = await page.submit(`/deliveries/${await onlyId(page)}/resend`, { to: target.url })
    expect(text).toMatch(/answered 200 in \d+ ms: x{300}…/)
  })
})

describe('editing and signing a recorded request', () => {
  it('sends the edited body with a signature that the receiver verifies', async () => {
    const { hook, page } = await startInspected({ signatureKey: [KEY, 'older2025'] })
    await send(hook, { headers: { ...signed, 'x-service': `sha256=${base64Of(body, 'older2025')}` }, body })
    const id = await onlyId(page)
    const edited = body.replace('FeaturesCreated', 'FeaturesDeleted')
    const values = { to: hook, 'content-type': JSON_TYPE, body: edited, 'body-form': 'text' }
    const { text } = await page.submit(`/deliveries/${id}/edit`, values)
    expect(text).toMatch(/class="notice good"[^>]*>[^<]*answered 200/)
    const [newest] = await page.ids()
    expect(await page.row(newest ?? '')).toMatch(/FeaturesDeleted Parcels 200 handled$/)
    const signature = textOf((await page.get(`/deliveries/${newest}/signature`)).text)
    expect(signature).toContain('verified with key 1 of 2 (newest); it was sent in base64.')
    expect(text).not.toContain(base64Of(edited))
  })

  it('repairs a request with a wrong signature, and keeps bytes that are not text', async () => {
    const target = await startRecordingTarget()
    const { hook, page } = await startInspected()
    await send(hook, { headers: { ...signed, 'x-other': 'kept' }, body: Buffer.from([0, 255]) })
    const path = `/deliveries/${await onlyId(page)}/edit`
    expect((await page.get(path)).text).toContain('00ff</textarea>')
    const values = { to: target.url, 'content-type': FORM_TYPE, body: '00 fe', 'body-form': 'hex' }
    await page.submit(path, values)
    const [request] = target.requests
    expect(request?.body).toEqual(Buffer.from([0, 254]))
    expect(request?.headers).toMatchObject({
      'content-type': FORM_TYPE,
      'x-service': signatureOf(Buffer.from([0, 254])),
      'x-other': 'kept',
    })
  })

  it('shows neither the new signature nor a key that the target sends back', async () => {
    const target = await startRecordingTarget((res, { headers }) =>
      res.end(`${headers['x-service']} is right for ${KEY}`),
    )
    const { hook, page } = await startInspected()
    await send(hook, { headers: signed, body })
    const values = { to: target.url, 'content-type': JSON_TYPE, body: '{}', 'body-form': 'text' }
    const { text } = await page.submit(`/deliveries/${await onlyId(page)}/edit`, values)
    expect(text).toContain(': *** is right for ***')
    expect(text).not.toContain(signatureOf('{}'))
  })

  it.each([
    [{ 'body-form': 'hex', body: 'zz' }, 'the body in hex must have two hex digits for each byte'],
    [{ 'content-type': '' }, 'the content type must be text such as application/json'],
    [{ 'content-type': 'a\nb: c' }, 'the content type must be text such as application/json'],
  ])('shows the form again with the input: %o', async (wrong, message) => {
    const target = await startRecordingTarget()
    const { hook, page } = await startInspected()
    await send(hook, { headers: signed, body })
    const values = { to: target.url, 'content-type': JSON_TYPE, body: '{"mine":1}', 'body-form': 'text' }
    const answer = await page.submit(`/deliveries/${await onlyId(page)}/edit`, { ...values, ...wrong })
    expect(answer.status).toBe(400)
    expect(textOf(answer.text)).toContain(message)
    expect(answer.text).toContain('body' in wrong ? wrong.body : '{&quot;mine&quot;:1}')
    expect(target.requests).toEqual([])
  })

  it('is unavailable without a static key', async () => {
    const { hook, page } = await startInspected({ signatureKey: () => KEY })
    await send(hook, { headers: signed, body })
    const id = await onlyId(page)
    expect((await page.get(`/deliveries/${id}`)).text).not.toContain('Edit and sign')
    expect(textOf((await page.get(`/deliveries/${id}/edit`)).text)).toContain(
      'Edit and sign is not possible now',
    )
    expect(textOf((await page.get(`/deliveries/${id}/signature`)).text)).toContain('key 1 (newest)')
  })
})
