import { writeFileSync } from 'node:fs'
import { keyring } from 'geohook/node'
import { expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createFolder } from '../helpers/folder.ts'
import { send } from '../helpers/http.ts'
import { type Page, startInspected } from './helpers/request-log-support.ts'

/** A key with a character that takes two bytes in UTF-8. */
const WIDE = 'Flurst\u00fcck-2026'
const body = payloadOf('FeaturesCreated')

const PATHS = ['', '/body', '/body?view=hex', '/headers', '/events', '/signature', '/attempts', '/curl']
const FORMS = ['/resend', '/edit']

/** All pages of all deliveries. */
async function everyPage(page: Page): Promise<string> {
  const ids = await page.ids()
  const paths = ids.flatMap((id) => [...PATHS, ...FORMS].map((path) => `/deliveries/${id}${path}`))
  const [a = '', b = ''] = ids
  const texts: string[] = []
  for (const path of ['/', `/diff?a=${a}&b=${b}`, ...paths]) {
    const { status, text } = await page.get(path)
    // A request that was refused before its body was read can be neither sent again nor edited.
    expect(FORMS.some((form) => path.endsWith(form)) ? [200, 404] : [200], path).toContain(status)
    texts.push(text)
  }
  return texts.join('\n')
}

it('no page has a key or the right signature of a refused request, wherever the sender puts the key', async () => {
  const { hook, page } = await startInspected({ signatureKey: [KEY, WIDE] })
  const wire = Buffer.from(WIDE).toString('latin1')
  const headers = {
    'content-type': JSON_TYPE,
    secret: KEY,
    authorization: 'Bearer of the application',
    'proxy-authorization': 'Basic of the proxy',
    cookie: 'session=of-the-user',
    'x-key': KEY,
    'x-wide': wire,
    'x-in-text': `key=${KEY}; other`,
  }
  const path = `?key=${KEY}&wide=${encodeURIComponent(WIDE)}`
  await send(hook + path, { headers, body: Buffer.from(body) })
  await send(hook + path, {
    headers: { ...headers, 'x-service': signatureOf('other') },
    body: Buffer.from(body),
  })
  const text = await everyPage(page)
  const secrets = [
    KEY,
    WIDE,
    wire,
    encodeURIComponent(WIDE),
    'of the application',
    'of the proxy',
    'of-the-user',
  ]
  for (const secret of [...secrets, signatureOf(body), signatureOf(body, WIDE)])
    expect(text).not.toContain(secret)
  expect(text).toContain('key=***; other')
})

it('no page has a key of a keyring, from when the receiver knows it, and the newest one signs', async () => {
  const folder = createFolder()
  onTestFinished(() => folder.remove())
  const path = folder.fileIn('keys.json')
  const write = (...keys: string[]) =>
    writeFileSync(path, JSON.stringify({ keys: keys.map((key, id) => ({ id: `${id}`, key })) }), {
      mode: 0o600,
    })
  write(KEY)
  const { hook, page } = await startInspected({ signatureKey: keyring(path) })
  const headers = { 'content-type': JSON_TYPE, 'x-keys': `${KEY} ${WIDE}` }
  await send(hook, { headers: { ...headers, 'x-service': signatureOf(body) }, body })
  write('another2026', WIDE)
  await send(hook, { headers: { ...headers, 'x-service': signatureOf(body, WIDE) }, body })
  const [newest] = await page.ids()
  expect((await page.get(`/deliveries/${newest}/signature`)).text).toContain('key 2;')
  const values = { to: hook, 'content-type': JSON_TYPE, body, 'body-form': 'text' }
  expect((await page.submit(`/deliveries/${newest}/edit`, values)).text).toContain('answered 200')
  const text = await everyPage(page)
  for (const secret of [KEY, WIDE, 'another2026']) expect(text).not.toContain(secret)
})

it('every value of a sender is escaped', async () => {
  const hostile = `"'><script>alert(1)</script>\u0000\u202e`
  const payload = JSON.stringify({
    name: hostile,
    serviceName: hostile,
    folderName: hostile,
    serviceType: hostile,
    events: [{ eventType: hostile, when: 1, layerId: 1, changesUrl: hostile }],
  })
  const { hook, page } = await startInspected({}, (receiver) => {
    receiver.on('*', () => {
      throw new Error(hostile)
    })
  })
  const value = `"'><script>alert(1)</script>`
  const headers = { 'x-hostile': value, 'x-service': signatureOf(payload), 'content-type': JSON_TYPE }
  await send(`${hook}?"'><script>alert(1)</script>`.replaceAll(' ', '%20'), { headers, body: payload })
  await send(hook, {
    headers: { ...headers, 'content-type': `text/${value}`, 'x-service': value },
    body: value,
  })
  const text = await everyPage(page)
  expect(text).toContain('&lt;script&gt;alert(1)')
  expect(text).not.toContain('<script>')
  expect(text).not.toContain('\u0000')
})
