import { createReceiver, type StoredDelivery } from 'geohook'
import { type CheckOptions, checkReceiver, SCENARIOS } from 'geohook/check'
import { webhook } from 'geohook/node'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'
import { unusedUrl } from '../helpers/target.ts'
import { always, checkListener, idsOf, resultOf } from './receiver.ts'

const url = 'http://127.0.0.1:9/'
const correct = webhook(
  createReceiver({ signatureKey: KEY, observer: { refused() {} }, bodyTimeout: 3_000 }).on('*', () => {}),
)

it('has at least 40 scenarios with unique ids, and a reason and a fix for each', () => {
  expect(SCENARIOS.length).toBeGreaterThanOrEqual(40)
  expect(new Set(SCENARIOS.map(({ id }) => id)).size).toBe(SCENARIOS.length)
  for (const { id, title, reason, fix } of SCENARIOS) {
    expect(id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    expect(title).toMatch(/^[a-z].*[^.]$/)
    for (const sentence of [reason, fix]) expect(sentence).toMatch(/^[A-Z].*\.$/s)
  }
})

it('finds that a receiver of geohook conforms, reports each scenario once, and sends no delivery twice', async () => {
  const seen: string[] = []
  const deliveries = new Set<StoredDelivery>()
  const receiver = createReceiver({ signatureKey: KEY, observer: { refused() {} }, bodyTimeout: 3_000 }).on(
    '*',
    (_, delivery) => void deliveries.add(delivery),
  )
  const report = await checkListener(webhook(receiver), {
    timeout: 10_000, // for a busy machine
    skip: ['uniform-refusal-time'], // measures time; correct.long.ts runs it
    onResult: ({ id }, { done, total }) => {
      seen.push(id)
      expect([done, total]).toEqual([seen.length, SCENARIOS.length])
    },
  })
  expect(idsOf(report, 'failed')).toEqual(['time-stale', 'time-future']) // the receiver has no maxAge
  expect(report).toMatchObject({ format: 1, conclusion: 'conforms', profile: 'service', dialect: 'service' })
  expect(report.results.map(({ id }) => id)).toEqual(SCENARIOS.map(({ id }) => id))
  expect([...seen].sort()).toEqual(SCENARIOS.map(({ id }) => id).sort())
  expect(idsOf(report, 'undecided')).toEqual([])
  const { passed, failed, undecided, skipped } = report.counts
  expect(passed + failed + undecided + skipped).toBe(SCENARIOS.length)
  expect(JSON.stringify(report)).not.toContain(KEY)
  const bodies = [...deliveries].map(({ rawBody }) => rawBody.toString())
  expect(bodies.length).toBeGreaterThan(20)
  expect(new Set(bodies).size).toBe(bodies.length)
  expect(resultOf(report, 'duplicate-in-turn')).toMatchObject({ verdict: 'skipped' })
})

it('finds only that a receiver which refuses everything does not accept the valid delivery', async () => {
  const report = await checkListener(always(401))
  expect(report.conclusion).toBe('fails')
  expect(idsOf(report, 'failed')).toEqual(['valid-json'])
  expect(resultOf(report, 'signature-missing')).toMatchObject({
    verdict: 'undecided',
    evidence: expect.stringContaining('did not accept a valid delivery'),
  })
  expect(resultOf(report, 'redirect').verdict).toBe('passed')
})

it('finds a receiver that accepts everything', async () => {
  const only = ['signature-missing', 'signature-wrong-key', 'body-altered', 'other-methods']
  const report = await checkListener(always(200), { only })
  expect(report.conclusion).toBe('fails')
  expect(idsOf(report, 'failed')).toEqual(only)
})

it('reports a redirect of the payload URL', async () => {
  const report = await checkListener(always(308, '', { location: '/elsewhere' }))
  expect(resultOf(report, 'redirect')).toMatchObject({
    verdict: 'failed',
    evidence: expect.stringContaining('location: /elsewhere'),
  })
})

it('reports an unreachable receiver without an error', async () => {
  const url = await unusedUrl()
  const report = await checkReceiver({ url, signatureKey: KEY })
  expect(report).toMatchObject({ conclusion: 'unreachable', results: [] })
  expect(report.summary).toBe(`cannot reach ${url}: connection refused`)
})

it('runs only the selected scenarios, and always the valid delivery', async () => {
  const report = await checkListener(correct, {
    only: ['signature-missing', 'methods'],
    skip: ['get-request'],
  })
  expect(idsOf(report, 'passed')).toEqual([
    'valid-json',
    'signature-missing',
    'other-methods',
    'signed-methods',
    'method-not-allowed',
  ])
  expect(resultOf(report, 'get-request')).toMatchObject({ verdict: 'skipped', evidence: 'not selected' })
})

it('counts a failed should only if strict', async () => {
  const only = ['refusal-status', 'signature-missing']
  const listener: Parameters<typeof checkListener>[0] = (req, res) =>
    req.headers['x-service'] ? correct(req, res) : always(404)(req, res)
  expect(await checkListener(listener, { only })).toMatchObject({ conclusion: 'conforms', strict: false })
  expect(await checkListener(listener, { only, strict: true })).toMatchObject({
    conclusion: 'fails',
    strict: true,
    summary: 'The receiver does not conform: refusal-status.',
  })
})

it('is undecided about responses of a rate limit', async () => {
  let count = 0
  const report = await checkListener(
    (req, res) => (count++ === 0 ? correct(req, res) : always(429)(req, res)),
    { only: ['signature-missing'] },
  )
  expect(report).toMatchObject({
    conclusion: 'undecided',
    summary: 'The run could not decide signature-missing.',
  })
})

it('sends additional headers with every request', async () => {
  const missing: (string | undefined)[] = []
  await checkListener(
    (req, res) => {
      if (req.headers['x-gateway'] !== 'open') missing.push(req.url)
      correct(req, res)
    },
    { headers: { 'X-Gateway': 'open' }, only: ['acceptance', 'connections', 'methods'] },
  )
  expect(missing).toEqual([])
})

const invalid: [string, Partial<Record<keyof CheckOptions, unknown>>, string][] = [
  ['no URL', { url: undefined }, 'url must be an http: or https: URL'],
  ['a URL of another scheme', { url: 'ftp://127.0.0.1/' }, 'url must be an http: or https: URL'],
  ['a URL with a password', { url: 'http://a:b@127.0.0.1/' }, 'url must not contain a user name or password'],
  ['an empty key', { signatureKey: '' }, 'is empty'],
  ['an unknown profile', { profile: 'esri' }, 'profile must be one of service, arcgis, portal'],
  ['an unknown dialect', { dialect: 'online' }, 'dialect must be one of service, hosted, organization'],
  ['an unknown encoding', { encoding: 'auto' }, 'encoding must be one of hex, base64'],
  [
    'an unknown scenario',
    { only: ['signature-mising'] },
    'only and skip must contain ids or groups of scenarios',
  ],
  ['a timeout of 0', { timeout: 0 }, 'timeout must be a whole number of milliseconds from 100 to 60000'],
  [
    'a timeout in words',
    { timeout: '10s' },
    'timeout must be a whole number of milliseconds from 100 to 60000',
  ],
  ['a header of its own', { headers: { Host: 'a' } }, 'headers must not contain Host: the scenarios set it'],
  ['a second signature', { headers: { 'X-Service': 'a' } }, 'headers must not contain X-Service'],
  ['a header with a line break', { headers: { 'x-a': 'a\r\nb: c' } }, 'the header x-a has an invalid value'],
  ['a prefix with a line break', { prefix: 'a\r\nb: c' }, 'prefix contains characters'],
  [
    'a key that a portal cannot send',
    { profile: 'portal', signatureKey: 'a\nb2345678' },
    'signatureKey contains characters',
  ],
  ['an invalid CA', { ca: 'nonsense' }, 'ca: a CA certificate must be'],
  ['a CA of another type than text or bytes', { ca: 7 }, 'ca: a CA certificate must be'],
  ['an observer of another type than function', { observer: 7 }, 'observer must be a function'],
  ['a failHandler of another type than function', { failHandler: 7 }, 'failHandler must be a function'],
  ['an unknownUrl of another scheme', { unknownUrl: 'ftp://127.0.0.1/' }, 'unknownUrl must be an http: or'],
  ['an unknownUrl of another origin', { unknownUrl: 'http://127.0.0.1:8/a' }, 'the same origin as url'],
  ['the same URL as unknownUrl', { unknownUrl: url }, 'and a different path or query'],
  ['a text in place of a list', { only: 'bodies' }, 'only must be a list'],
  ['null as a list', { skip: null }, 'skip must be a list'],
  ['a text as headers', { headers: 'abc' }, 'headers must be an object'],
  ['a strict of another type than boolean', { strict: 'yes' }, 'strict must be true or false'],
]

it.each(invalid)('rejects %s', async (_, options, message) => {
  await expect(checkReceiver({ url, signatureKey: KEY, ...options } as CheckOptions)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining(message),
  })
})

it('suggests the scenario that a wrong name means', async () => {
  await expect(checkReceiver({ url, signatureKey: KEY, skip: ['body-altred'] })).rejects.toMatchObject({
    hint: 'Did you mean body-altered?',
  })
})

it('does not take the echo of a valid delivery for a leak', async () => {
  const report = await checkListener(
    (req, res) => {
      const echo = JSON.stringify(req.headers)
      const { end } = res
      // Receivers for trials often answer with what they got.
      res.end = ((...args: [unknown]) =>
        end.call(res, res.statusCode === 200 ? echo : args[0], 'utf8')) as never
      correct(req, res)
    },
    { only: ['acceptance', 'no-signature'] },
  )
  expect(resultOf(report, 'no-signature').verdict).toBe('passed')
})

it.each(['service', 'arcgis', 'portal'] as const)(
  'finds no difference between a tenant and an unknown one in a receiver with the profile %s',
  async (profile) => {
    const receiver = createReceiver({
      profile,
      signatureKey: ({ url }) => (url.includes('/hook') ? KEY : undefined),
      observer: { refused() {} },
    }).on('*', () => {})
    const { url } = await serve(webhook(receiver))
    const report = await checkReceiver({
      url: `${url}/hook`,
      unknownUrl: `${url}/unknown`,
      signatureKey: KEY,
      profile,
      only: ['unknown-tenant'],
    })
    expect(resultOf(report, 'unknown-tenant').verdict).toBe('passed')
  },
)
