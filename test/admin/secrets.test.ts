import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { createAdmin, showWebhook, signIn, type WebhookChanges } from 'geohook/admin'
import { expect, it } from 'vitest'
import { serve } from '../helpers/served.ts'
import {
  errorOf,
  expectNone,
  FLOW,
  KEY,
  listOf,
  PRODUCTS,
  printed,
  type Sent,
  spellingsOf,
  start,
  startFixed,
  stored,
} from './support.ts'

const TOKEN = 'the-t0ken/of+kim'
const NEW_KEY = 'new "key" ünd 2026'
const GIVEN = {
  key: NEW_KEY,
  hookUrl: 'https://flows.example/x/Ab1Cd2Ef3Gh4Ij5?code=New-Sècret%2B1&y=tail-secret',
}
const SECRETS = [
  TOKEN,
  KEY,
  NEW_KEY,
  'Zm9vYmFy_Flow-Secret',
  'Ab1Cd2Ef3Gh4Ij5',
  'New-Sècret%2B1',
  'tail-secret',
]

const isWrite = ({ path }: Sent): boolean => /\/(edit|update|delete)$/.test(path)
/** Errors of a service that quotes what it knows. */
const ANSWERS: Record<string, (res: ServerResponse, text: string) => unknown> = {
  'an error': (res, text) =>
    res.end(JSON.stringify({ error: { code: 400, message: text, details: [text] } })),
  messages: (res, text) => res.end(JSON.stringify({ status: 'error', code: 498, messages: [text] })),
  'an HTML page': (res, text) => res.end(`<!doctype html><p>${text.replaceAll('&', '&amp;')}`),
  'an HTTP error': (res, text) => res.writeHead(403).end(text),
  'a redirect': (res, text) => {
    const path = encodeURIComponent(text)
    res.writeHead(302, { location: `https://login.example/${path}?key=${path}` }).end()
  },
}

/** A secret as a service can quote it. */
const quoteOf = (secret: string): string => spellingsOf(secret).join(' | ')

it.each(
  PRODUCTS.flatMap((product) => {
    const answers = product === 'enterprise' ? Object.keys(ANSWERS) : ['an error']
    return answers.map((answer) => [product, answer] as const)
  }),
)('%s: no secret that the service quotes is in %s', async (product, answer) => {
  let secret = ''
  const { webhooks, sent } = await start(product, {
    admin: { token: TOKEN },
    before(req, res) {
      if (!isWrite(sent.at(-1) as Sent)) return false
      req.resume().on('end', () => ANSWERS[answer]?.(res, quoteOf(secret)))
      return true
    },
  })
  for (secret of [...SECRETS, FLOW, GIVEN.hookUrl]) {
    const error = await errorOf(webhooks.edit('edits', GIVEN))
    expect(error.message).toContain('***')
    expectNone(printed(error), SECRETS)
  }
})

it.each(PRODUCTS)('%s: no secret is in an error about a change', async (product) => {
  const member = { hookUrl: 'hookUrl', key: 'signatureKey' } as const
  for (const [name, ignored] of Object.entries(member)) {
    const { mock, webhooks, url } = await start(product)
    const hookUrl = `${url}/hook?code=tail-secret`
    mock.faults.add({ fault: 'edit_member_ignored', member: ignored })
    const error = await errorOf(webhooks.edit('edits', { ...GIVEN, hookUrl }))
    expect([error.code, error.different?.map(({ member }) => member)]).toEqual(['admin_not_applied', [name]])
    expectNone(printed(error), SECRETS)
    expectNone(printed(await errorOf(webhooks.edit(KEY, { name: 'x' }))), SECRETS)
  }
})

it.each<WebhookChanges>([
  { hookUrl: 'ftp://flows.example/?sig=tail-secret' },
  { hookUrl: 'https://flows.example/?sig=tail-secret x' },
  { key: ['tail-secret'] as unknown as string },
  { secret: 'tail-secret' } as WebhookChanges,
])('no secret is in an error about the changes %j', async (changes) => {
  const { webhooks } = await start('service')
  const error = await webhooks.edit('edits', changes).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'config_invalid' })
  expectNone(printed(error), SECRETS)
})

it.each(PRODUCTS)('%s: a webhook is printed without its secrets', async (product) => {
  const { webhooks } = await start(product, { webhooks: [stored(product)] })
  const [webhook] = await listOf(webhooks.list())
  if (!webhook) return expect.fail('no webhook')
  const result = await webhooks.edit('edits', { name: 'renamed' })
  for (const value of [webhook, { webhook }, [webhook], result]) {
    expectNone(inspect(value, { depth: 9 }) + JSON.stringify(value), SECRETS)
    expect(JSON.stringify(value)).toContain('https://flows.example:443/workflows/7f0e/run?sig=***')
  }
  expect(showWebhook(webhook)).toMatchObject({ key: '***' })
  expect(showWebhook(webhook, true)).toMatchObject({ key: '***', hookUrl: FLOW })
  expect([webhook.key, webhook.hookUrl]).toEqual([KEY, FLOW])
})

it.each([
  { username: 'kim', password: KEY },
  { clientId: 'app', clientSecret: KEY },
])('no password is in an error of a sign-in with %j', async (credentials) => {
  const broken = (res: ServerResponse) => res.socket?.end(`HTTP/1.1 ${KEY}\r\n\r\n`)
  for (const answer of [...Object.values(ANSWERS), broken]) {
    const { url } = await serve((req, res) => void req.resume().on('end', () => answer(res, quoteOf(KEY))))
    const error = await errorOf(signIn({ portal: `${url}/sharing/rest`, ...credentials }))
    expectNone(printed(error), [KEY])
  }
})

it('no token is in an error, also none that was rejected before, or that its source quotes', async () => {
  const TOKENS = ['1st-t0ken/of+kim', '2nd-t0ken"of&kim', '3rd-t0ken<of>kim']
  const PASSWORD = 'pw-tail-secret'
  const LONG = 'x'.repeat(900)
  const given: string[] = []
  const quote = () => given.map(quoteOf).join(' | ')
  const token = () => {
    if (given.length === TOKENS.length) {
      const url = `https://kim:${PASSWORD}@gis.example/x?password=${PASSWORD}&token=${PASSWORD}`
      const cause = Object.assign(new Error(`${url} ${quote()}`), { options: { password: PASSWORD } })
      throw Object.assign(new Error(`rejected: ${quote()} at ${url} ${LONG}`, { cause }), {
        password: PASSWORD,
      })
    }
    given.push(TOKENS[given.length] as string)
    return given.at(-1) as string
  }
  const { webhooks } = await start('enterprise', {
    admin: { token },
    before(req, res) {
      const error = { code: 498, message: quote(), details: [`the token ${given.at(-1)} is too old`] }
      return Boolean(req.resume().on('end', () => res.end(JSON.stringify({ error }))))
    },
  })
  for (const reason of [/error 498: \*\*\*/, /error 498: \*\*\*/, /no token: rejected: \*\*\*/]) {
    const error = await errorOf(webhooks.get('edits'))
    expect([error.code, error.message]).toEqual(['admin_unauthorized', expect.stringMatching(reason)])
    expectNone(printed(error), [...TOKENS, PASSWORD, LONG])
  }
  expect(given).toEqual(TOKENS)
})

it('no secret that a fetch function or a receiver quotes is shown, also a key that only get shows', async () => {
  const quote = [TOKEN, KEY].map(quoteOf).join(' | ')
  let answer = (): Response => {
    throw new TypeError('cannot send', { cause: new Error(quote) })
  }
  const fetch = async ({ pathname }: URL) => {
    if (pathname.endsWith('/webhooks')) return Response.json([{ id: '1', name: 'edits' }])
    const webhook = { id: '1', name: 'edits', signatureKey: KEY }
    return pathname.endsWith('/1') ? Response.json(webhook) : answer()
  }
  const url = 'https://gis.example.com/server'
  const connect = () => createAdmin({ url, token: TOKEN, fetch }).service('Parcels.FeatureServer')
  const webhooks = connect()
  await errorOf(webhooks.get('unknown'))
  const webhook = await webhooks.get('edits')
  for (const call of [() => webhooks.failures('edits'), () => connect().failures(webhook)]) {
    const error = await errorOf(call())
    expect([error.code, error.message]).toEqual(['admin_unavailable', expect.stringMatching(/early: \*\*\*/)])
    expectNone(printed(error), SECRETS)
  }
  const failure = { invokedTimestamp: 1, serverResponse: quote }
  answer = () => Response.json({ webhookNotificationStatus: [failure] })
  expectNone(JSON.stringify(await webhooks.failures('edits')), SECRETS)
})

it('no secret in the properties of a webhook is shown', async () => {
  const config = { properties: { jobs: [{ password: 'tail-secret', user: 'kim' }] } }
  const { webhooks } = await startFixed('portal', { id: '1', name: 'edits', secret: KEY, config })
  const webhook = await webhooks.get('edits')
  const error = await errorOf(webhooks.edit(webhook, { properties: { clientSecret: NEW_KEY } }))
  const [requested, stored] = ['{"clientSecret":"***"}', '{"jobs":[{"password":"***","user":"kim"}]}']
  expect(error.different).toEqual([{ member: 'properties', requested, stored }])
  expectNone(inspect(webhook, { depth: 9 }) + JSON.stringify(webhook) + printed(error), SECRETS)
})

it('no payload URL of another webhook that the service quotes is in an error', async () => {
  const other = 'https://kim:pw-s3cret@other.example/x/Qr5St6Uv7Wx8Yz9A?v=other-secret&x=y-secret#z-secret'
  for (const quoted of [
    other,
    `"${other}"`,
    `<a href='${other}'>`,
    `${' '.repeat(400)}${other}`,
    other.repeat(20),
  ]) {
    const { webhooks } = await start('enterprise', {
      before: (_, res) => Boolean(res.writeHead(400).end(`the URL ${quoted} is in use`)),
    })
    const error = await errorOf(webhooks.get('edits'))
    expectNone(printed(error), ['pw-s3cret', 'Qr5St6Uv7Wx8Yz9A', 'other-secret', 'y-secret', 'z-secret'])
  }
})
