import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createChanges } from 'geohook/changes'
import { expect, it } from 'vitest'
import { createRedactor } from '../src/shared/redact.ts'
import { type Reply, redirect, startHostile } from './changes/contract/hostile-server.ts'
import { FAST, toEvent } from './changes/support.ts'
import { createFolder, geohook, startGeohook } from './helpers/cli.ts'
import { captureJson } from './helpers/cli-captures.ts'
import { JSON_TYPE, payloadOf, signatureOf } from './helpers/deliver.ts'
import { expectTimes } from './helpers/expect-times.ts'
import { send } from './helpers/http.ts'
import { serve } from './helpers/served.ts'
import { findSecrets, spellingsOf } from './helpers/spellings.ts'
import { CREATED, lastPath, mock, open, pathsOf, submit } from './inspector/helpers/mock-support.ts'
import { startInspected } from './inspector/helpers/request-log-support.ts'

/** Secrets that occur in no other text, with characters that differ in each encoding. */
const KEY = 'Zk8/q+W3=Kataster.Flur-42_x'
const WIDE = 'Gr\u00fcn<Buch>&"Flur\\\u00df 7\''
const TOKEN = 'tok~Q7/r+B2=x"y\\z&9%41'
const OLD_TOKEN = 'old~V5/s+D8=first_token'
const SECRETS = [KEY, WIDE, TOKEN, OLD_TOKEN]
const SHORT = 'k7Q&_z'

/** Secrets that geohook does not know, and hides because of the name of the header or parameter. */
const HEADERS: Record<string, string> = {
  secret: 'unlisted-of-secret',
  authorization: 'Bearer unlisted-of-authorization',
  'proxy-authorization': 'Basic unlisted-of-proxy',
  'x-esri-authorization': 'Bearer unlisted-of-esri',
  cookie: 'session=unlisted-of-cookie',
  'x-api-key': 'unlisted-of-api-key',
  apikey: 'unlisted-of-apikey',
  'ocp-apim-subscription-key': 'unlisted-of-subscription',
  'x-gitlab-token': 'unlisted-of-gitlab',
  'x-forwarded-authorization': 'unlisted-of-forwarded',
  referer: 'https://user:unlisted-of-user@info@gis.example.com/',
  'x-forwarded-url': '/?u=https%3A%2F%2Fuser%3Aunlisted-of-user-info%40gis.example.com',
}
const QUERY = ['token', 'access_token', 'code', 'sig', 'key', 'signatureKey', 'password', 'client_secret']
  .map((name) => `${name}=unlisted-of-${name}`)
  .join('&')

/** Expects that a text has neither a secret in any spelling nor a part of one. */
function expectNoSecrets(text: string, secrets: readonly string[], where: string): void {
  expect(text.length, where).toBeGreaterThan(0)
  const found = findSecrets(text, [...secrets, 'unlisted-of-'])
  expect(found.length > 0 ? { where, found, text: text.slice(0, 20_000) } : undefined).toBeUndefined()
}

const quoted = (secrets: readonly string[]): [name: string, text: string][] =>
  secrets.flatMap((secret) => Object.entries(spellingsOf(secret)))

/** Spellings in groups that are small enough for the headers of one request. */
function groupsOf(secrets: readonly string[]): string[][] {
  const texts = quoted(secrets).map(([, text]) => text)
  const size = 24
  return Array.from({ length: Math.ceil(texts.length / size) }, (_, index) =>
    texts.slice(index * size, (index + 1) * size),
  )
}

/** Everything of a request but its body: the spellings are in the path, the query and headers. */
function requestWith(url: string, texts: readonly string[]): [url: string, headers: Record<string, string>] {
  const escaped = texts.map((text) => text.replace(/[^!-~]|#/g, encodeURIComponent))
  const [first = '', ...others] = escaped
  const headers = Object.fromEntries(texts.map((text, index) => [`x-planted-${index}`, text]))
  return [
    `${url}?${QUERY}&a=${others.join('&b=')}&c=/${first}/d`,
    { 'content-type': JSON_TYPE, ...HEADERS, ...headers },
  ]
}

const folder = createFolder()

it('each secret has 40 spellings, in which it is found and hidden', () => {
  for (const secret of [...SECRETS, SHORT]) {
    const { text } = createRedactor([secret])
    const spellings = Object.entries(spellingsOf(secret))
    expect(spellings.length).toBeGreaterThan(40)
    for (const [name, spelling] of spellings) {
      expect([name, findSecrets(spelling, [secret])]).toEqual([name, [secret]])
      expect([name, findSecrets(text(spelling), [secret])]).toEqual([name, []])
      const inText = `before ${spelling} after`
      expect([name, text(inText)]).toEqual([name, expect.stringMatching(/^before .*\*\*\*.* after$/s)])
    }
  }
})

it.each(['/a?b=%', '/a?b=%zz%4&c=%e2%82', 'C:\\path\\u12\\', '100% \\"quoted\\" %70arcels', 'a&amp;b'])(
  'text without a secret stays as it is: %s',
  (given) => expect(createRedactor(['parcels2026', 'pass w!rd']).text(given)).toBe(given),
)

it('nothing but the secret is replaced, in names of headers in any case', () => {
  const { text, headers } = createRedactor(['Parcels2026', 'pass w!rd'], { signatureHeader: 'Cookie' })
  expect(text('%41\\"/%50arcels2026%3D%zz%70ass+w%21rd\\')).toBe('%41\\"/***%3D%zz***\\')
  expect(
    headers([
      ['x-PARCELS2026', 'a'],
      ['cookie', 'parcels'],
      ['SECRET', 'a'],
    ]),
  ).toEqual([
    ['x-***', 'a'],
    ['cookie', 'parcels'],
    ['SECRET', '***'],
  ])
})

it('a short secret is hidden where it is a whole value, and not in other words', () => {
  const { text } = createRedactor(['abc'])
  expect(text('Bearer abc, sha256=abc, "abc", /abc?x=abc&y=abcd, abc')).toBe(
    'Bearer ***, sha256=***, "***", /***?x=***&y=abcd, abc',
  )
  expect(text('abc')).toBe('***')
})

it.each(['http://127.0.0.1:4000/?mail=a@b', 'https://user@gis.example.com:443/a@b', 'http://[::1]:80, a@b'])(
  'a URL without a password stays as it is: %s',
  (given) => expect(createRedactor([]).text(given)).toBe(given),
)

it.each([
  'x',
  '://',
  '://:',
  '://:@',
  '%25',
  '\\u0025',
  '&#37;',
  '&token=',
  'abcd',
  'key of job ',
  '\\',
  '=',
  'a%',
])('hiding secrets takes time linear in a text of %s, whatever their number', async (part) => {
  const many = createRedactor(Array.from({ length: 2000 }, (_, index) => `key of job ${index}`))
  const one = createRedactor(['abcd-efgh'])
  const short = part.repeat(20_000 / part.length)
  const often = (hide: (text: string) => string, text: string, times: number) => () => {
    for (let time = 0; time < times; time++) hide(text)
  }
  await expectTimes(8, often(one.text, short.repeat(16), 1), often(one.text, short, 16))
  await expectTimes(20, often(many.text, short, 8), often(one.text, short, 8))
})

it.each([[[]], [['--json']]])('geohook listen %s shows and saves no key', async (more) => {
  const captures = join(folder.path, `captures${more.length}`)
  const groups = groupsOf([KEY, WIDE])
  const echo = await serve((req, res) => {
    res.writeHead(200, { 'x-echo': String(req.headers['x-planted-0']) }).end(JSON.stringify(req.headers))
  })
  const args = [
    '--key',
    KEY,
    '--key',
    WIDE,
    '--save',
    captures,
    '--forward-to',
    echo.url,
    '--forward-refused',
  ]
  const listener = startGeohook([
    'listen',
    '--port',
    '0',
    ...args,
    '--count',
    String(groups.length * 2),
    ...more,
  ])
  const [, hook = ''] = await listener.printed(/(http:\/\/[^\s"]+)/)
  for (const texts of groups) {
    const [url, headers] = requestWith(hook, texts)
    const body = Buffer.from(
      JSON.stringify({
        name: texts.join(' '),
        serviceName: texts[0],
        events: texts.map((eventType) => ({ eventType, when: 1730385704000 })),
      }),
    )
    await send(url, { headers: { ...headers, 'x-service': signatureOf(body, KEY) }, body })
    await send(url, { headers: { ...headers, 'x-service': texts[0] }, body: Buffer.from('{}') })
  }
  expect(await listener.exited).toBe(1)
  expectNoSecrets(listener.output, [KEY, WIDE], 'output')
  const files = readdirSync(captures)
  expect(files).toHaveLength(groups.length * 2)
  for (const file of files) {
    // The body is stored as it was sent, because the signature is for its bytes.
    const { body, ...capture } = JSON.parse(readFileSync(join(captures, file), 'utf8'))
    expectNoSecrets(JSON.stringify(capture), [KEY, WIDE], file)
    expect(capture.headers).toContainEqual(['x-esri-authorization', '***'])
  }
})

it.each(['json', 'content-type', 'service', 'hook'])(
  'a capture can be explained although the key is the word %s',
  async (key) => {
    const captures = join(folder.path, `captures-${key}`)
    const profile = ['--profile', key === 'hook' ? 'arcgis' : 'service']
    const args = ['listen', '--port', '0', '--key', key, '--save', captures, '--count', '1', ...profile]
    const listener = startGeohook(args)
    const [, hook = ''] = await listener.printed(/(http:\/\/[^\s"]+)/)
    const body = Buffer.from(payloadOf('FeaturesCreated'))
    const name = key === 'hook' ? 'x-esriHook-Signature' : 'x-service'
    await send(hook, {
      headers: { 'content-type': JSON_TYPE, [name]: signatureOf(body, key), 'x-a': key },
      body,
    })
    expect(await listener.exited).toBe(0)
    const [file = ''] = readdirSync(captures)
    const { headers } = JSON.parse(readFileSync(join(captures, file), 'utf8'))
    expect(headers).toContainEqual(['x-a', '***'])
    expect((await geohook(['explain', captures, '--key', key, ...profile])).stdout).toContain('cause     ok')
  },
)

it('the commands that send, check and explain requests show no key', async () => {
  const planted = quoted([KEY, WIDE])
  const echo = await serve((_, res) => {
    const text = planted.map(([name, spelling]) => `${name}: ${spelling}`).join('\n')
    res.writeHead(401, { 'content-type': 'text/plain', 'x-echo': planted[0]?.[1] }).end(text)
  })
  const headers = planted.slice(0, 60).map(([, text], index) => [`x-planted-${index}`, text])
  const capture = folder.file(
    'planted.json',
    JSON.stringify(captureJson({ headers, url: `/${KEY}?${QUERY}` })),
  )
  const body = folder.file('body.json', payloadOf('FeaturesCreated'))
  const line = ['--header', 'authorization: Bearer unlisted-of-line', '--header', `x-b: ${KEY}`]
  for (const key of [KEY, WIDE])
    for (const args of [
      ['send', body, '--to', echo.url, ...line],
      ['replay', capture, '--to', echo.url, '--resign'],
      ['explain', capture],
      ['explain', '--body', body, ...line, '--header', `x-service: ${KEY}`],
      ['verify', body, '--signature', KEY],
      ['check', echo.url, '--only', 'signature-missing,body-altered'],
    ])
      for (const more of [[], ['--json']]) {
        const { stdout, stderr } = await geohook([...args, '--key', key, ...more])
        expectNoSecrets(stdout + stderr, [key], args.join(' '))
      }
})

it('the commands for the webhooks of a service show no key and no token', async () => {
  const planted = quoted([KEY, WIDE, TOKEN]).map(([, text]) => text)
  const webhook = {
    id: 'w1',
    folderName: '',
    serviceName: 'Parcels',
    serviceType: 'FeatureServer',
    name: `edits ${planted.join(' ')}`,
    changeTypes: ['*', planted[0]],
    hookUrl: `http://127.0.0.1:1/${encodeURIComponent(KEY)}?${QUERY}&x=${encodeURIComponent(TOKEN)}`,
    signatureKey: KEY,
    active: true,
    [`name ${TOKEN}`]: planted.slice(0, 5),
  }
  let fails = false
  const service = await serve((req, res) => {
    req.resume()
    const error = { code: 400, message: planted.join(' ') }
    const json = JSON.stringify(fails ? { error } : { ...webhook, webhooks: [webhook], status: 'success' })
    res.end(json.replaceAll('+', '\\u002b').replaceAll('/', '\\/'))
  })
  for (fails of [false, true])
    for (const args of [
      ['list'],
      ['create', 'Parcels.FeatureServer', '--name', 'n', '--hook-url', 'http://127.0.0.1:1/', '--key', WIDE],
      ['edit', 'Parcels.FeatureServer', 'w1', '--key', WIDE],
      ['delete', 'Parcels.FeatureServer', 'w1'],
      ['trigger', 'Parcels.FeatureServer', 'FeaturesCreated'],
      ...(fails ? [['edit-features', 'Parcels', '--delete', '1']] : []),
      ['changes', `${service.url}/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[1,2]`],
    ])
      for (const more of [[], ['--json']]) {
        const at = args[0] === 'changes' ? [] : ['--url', service.url]
        const { stdout, stderr } = await geohook([...args, ...at, '--token', TOKEN, ...more])
        // If a service shows a key in a list, the command knows it. Other commands know only the keys in their options.
        const isKnown = args[0] === 'list' || args[0] === 'edit'
        const known = [TOKEN, ...(args.includes(WIDE) ? [WIDE] : []), ...(isKnown && !fails ? [KEY] : [])]
        expectNoSecrets(stdout + stderr, known, args.join(' '))
      }
})

it('the inspector shows no key outside of bodies', async () => {
  const groups = groupsOf([KEY, WIDE])
  const echo = await serve((_, res) => res.end(groups.flat().join('\n')))
  const { hook, page } = await startInspected({ signatureKey: [KEY, WIDE] }, (receiver) => {
    receiver.on('*', () => {
      throw new Error(groups.flat().join('\n'))
    })
  })
  const body = Buffer.from(payloadOf('FeaturesCreated'))
  for (const texts of groups) {
    const [url, headers] = requestWith(hook, texts)
    await send(url, { headers: { ...headers, 'x-service': signatureOf(body, WIDE) }, body })
    await send(url, { headers: { ...headers, 'x-service': texts[0] }, body })
  }
  const ids = await page.ids()
  expect(ids).toHaveLength(groups.length * 2)
  const tabs = ['', '/headers', '/signature', '/attempts', '/curl', '/resend', '/edit']
  for (const path of ['/', ...ids.flatMap((id) => tabs.map((tab) => `/deliveries/${id}${tab}`))])
    expectNoSecrets((await page.get(path)).text, [KEY, WIDE], path)
  const { text } = await page.submit(`/deliveries/${ids[1]}/resend`, { to: echo.url })
  expect(text).toContain('answered 200')
  expectNoSecrets(text, [KEY, WIDE], 'resend')
})

it.each(['service', 'organization'] as const)(
  'the page of a mock in the dialect %s shows no key',
  async (dialect) => {
    const planted = quoted([KEY]).map(([, text]) => text)
    const echo = await serve((req, res) => {
      res.setHeader('x-echo', planted[0] ?? '')
      res.end(`${JSON.stringify(req.headers)} ${planted.join('\n')}`)
    })
    const { form, hex, base64url } = spellingsOf(KEY)
    const hookUrl = `${echo.url}/${hex}?${QUERY}&${form}&x=${base64url}`
    const service = await mock(hookUrl, { signatureKey: KEY }, { like: { dialect } })
    await service.trigger(CREATED)
    await submit(service, `${lastPath(service)}/replay`, { to: hookUrl })
    // The forms of the administration contain the URL, so that it can be edited.
    for (const path of pathsOf(service).filter((name) => !name.includes('/webhooks/edit')))
      expectNoSecrets((await open(service, path)).text, [KEY], path)
  },
)

it('errors and steps of geohook/changes contain no token, not even one that the service has rejected', async () => {
  const planted = quoted([TOKEN, OLD_TOKEN]).map(([, text]) => text)
  const all = planted.join(' ')
  const path = planted.map(encodeURIComponent).join('/')
  const error = { code: 400, message: all, details: planted }
  const json =
    (toJson: (origin: string) => object): Reply =>
    (res, origin) =>
      res.end(JSON.stringify(toJson(origin)))
  const failing: Record<string, Record<string, Reply>> = {
    'a refusal': { extractChanges: { error } },
    'a refused token': { extractChanges: { error: { ...error, code: 498 } } },
    'a long message': { extractChanges: { error: { code: 1, message: `${'x'.repeat(980)}${TOKEN}` } } },
    'a redirect': { extractChanges: redirect(`https://other.example/${path}`) },
    'a refused URL': { extractChanges: { statusUrl: `https://other.example/${path}` } },
    'a state': { status: { status: all } },
    'a failed job': {
      extractChanges: json((origin) => ({ statusUrl: `${origin}/${path}/status` })),
      status: { status: 'Failed', messages: planted },
    },
    'a page in place of a job': {
      extractChanges: json((origin) => ({ statusUrl: `${origin}/${path}/status` })),
      status: (res) => res.end(`<html>${all}</html>`),
    },
    'the URL of a file': { status: { status: 'Completed', resultUrl: `https://other.example/${path}` } },
    'a lost file': {
      status: json((origin) => ({ status: 'Completed', resultUrl: `${origin}/${path}/file` })),
      file: (res) => res.writeHead(404).end(all),
    },
  }
  for (const [name, replies] of Object.entries(failing)) {
    let requests = 0
    const first: Reply = (res, origin, req) => {
      const { extractChanges = { statusUrl: `${origin}/status` } } = replies
      const reply = requests++ === 0 ? { error: { code: 498, message: OLD_TOKEN } } : extractChanges
      return typeof reply === 'function' ? reply(res, origin, req) : res.end(JSON.stringify(reply))
    }
    const server = await startHostile({ ...replies, extractChanges: first })
    const tokens = [OLD_TOKEN]
    const shown: unknown[] = []
    const changes = createChanges({
      token: () => tokens.shift() ?? TOKEN,
      origins: [server.origin],
      pollInterval: FAST,
      timeout: 1000,
      observer: { around: async ({ run, ...step }) => shown.push(step, await run()) },
    })
    const thrown = await changes.of(server.event).catch((reason: unknown) => reason)
    expect(thrown, name).toMatchObject({ code: expect.stringMatching(/^changes_/) })
    expectNoSecrets(inspect([thrown, ...shown.slice(0, 20)], { depth: 9 }), [TOKEN, OLD_TOKEN], name)
  }
  const rejected = createChanges({
    token: () => Promise.reject(new Error(`cannot renew token=unknown`)),
    origins: ['http://127.0.0.1:1'],
  })
  const event = {
    ...toEvent('http://127.0.0.1:1/rest/services/P/FeatureServer/extractChanges?serverGens=[1,2]'),
  }
  await expect(rejected.of(event)).rejects.toMatchObject({ message: 'no token: cannot renew token=***' })
})
