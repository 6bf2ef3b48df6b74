import express from 'express'
import { createReceiver, parsePayload, type ReceiverOptions, sign, verify } from 'geohook'
import { webhook } from 'geohook/express'
import { createPayload, createSigner } from 'geohook/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY, payloadOf, signatureOf } from './helpers/deliver.ts'
import { answerOf, begin, type Sent, send } from './helpers/http.ts'
import { listen, type Mounted } from './helpers/mounts/mounted.ts'
import { createRecorder } from './helpers/recorder.ts'
import { warningsOf } from './helpers/warnings.ts'

/**
 * Bugs that users of similar packages reported, with links to the issues. Each test checks the response and the
 * observer calls, in Express on a real socket.
 */

const open: Mounted[] = []
afterEach(async () => {
  for (const mounted of open.splice(0)) await mounted.close()
})

type SetUpApp = (app: express.Express) => unknown

/** Mounts a receiver in Express, after the middleware that `before` adds. */
async function mount({
  options = {},
  before = () => {},
}: {
  options?: Partial<ReceiverOptions>
  before?: SetUpApp
} = {}) {
  const recorder = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer: recorder.observer, ...options })
  const calls: string[] = []
  receiver.on('*', (event) => calls.push(event.changeType))
  const app = express()
  before(app)
  app.all('/hook', webhook(receiver))
  const mounted = await listen(app)
  open.push(mounted)
  return {
    lines: () => recorder.lines,
    observed: recorder.calls,
    url: mounted.url,
    receiver,
    calls,
  }
}

const BODY = payloadOf('FeaturesCreated')
const signed = (body: Uint8Array | string, headers: Sent['headers'] = {}): Sent => ({
  headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf(body), ...headers },
  body,
})
const codeOf = (text: string): unknown => JSON.parse(text).code

describe('raw body', () => {
  it('trap 1 (octokit/webhooks.js#40): returns 500 immediately and reports the parser if a JSON parser runs first', async () => {
    const { url, lines, observed } = await mount({ before: (app) => app.use(express.json()) })
    const warnings = await warningsOf(async () => {
      const answer = await send(url, signed(BODY))
      expect([answer.status, codeOf(answer.text)]).toEqual([500, 'body_already_parsed'])
    })
    expect(lines()).toEqual(['refused body_already_parsed'])
    expect(observed[0]?.error?.message).toContain('express.json()')
    expect(observed[0]?.error?.hint).toContain('Mount geohook before app.use(express.json())')
    expect(warnings).toEqual([
      expect.stringMatching(/^body_already_parsed: \/hook: a body parser, such as express.json\(\).* Mount/),
    ])
  })

  it.each<[string, express.RequestHandler, string]>([
    ['urlencoded', express.urlencoded({ extended: true }), FORM_TYPE],
    ['text', express.text({ type: '*/*' }), JSON_TYPE],
  ])('trap 1: returns 500 if a %s parser runs first', async (_, parser, type) => {
    const { url, lines } = await mount({ before: (app) => app.use(parser) })
    expect((await send(url, signed('a=1', { 'content-type': type }))).status).toBe(500)
    expect(lines()).toEqual(['refused body_already_parsed'])
  })

  it('trap 1: returns 500 if other code has consumed the stream', async () => {
    const consume: express.RequestHandler = (req, _res, next) => void req.on('end', () => next()).resume()
    const { url, lines } = await mount({ before: (app) => app.use(consume) })
    expect((await send(url, signed(BODY))).status).toBe(500)
    expect(lines()).toEqual(['refused body_already_parsed'])
  })

  it.each([
    ['1.0 for 1', '{"a":1.0}', '{"a":1}'],
    ['an escaped letter', '{"a":"\\u00e9"}', '{"a":"\u00e9"}'],
    ['an escaped slash', '{"a":"\\/"}', '{"a":"/"}'],
    ['white space', '{ "a": "&" }', '{"a":"&"}'],
  ])('trap 2 (octokit/webhooks.js#76): verifies bytes, not values: %s', async (_, sent, rewritten) => {
    const { url, lines } = await mount()
    expect((await send(url, signed(sent))).status).toBe(200)
    expect((await send(url, { ...signed(sent), body: rewritten })).status).toBe(401)
    expect((await send(url, { ...signed(rewritten), body: sent })).status).toBe(401)
    expect(lines()).toEqual([
      'accepted',
      'handled',
      'refused signature_mismatch',
      'refused signature_mismatch',
    ])
  })

  it('trap 3: detects express.json before express.raw, and reads the stream if the type of express.raw does not match', async () => {
    const afterParser = await mount({
      before: (app) => app.use(express.json(), express.raw({ type: '*/*' })),
    })
    expect((await send(afterParser.url, signed(BODY))).status).toBe(500)
    expect(afterParser.lines()).toEqual(['refused body_already_parsed'])
    const other = await mount({ before: (app) => app.use(express.raw({ type: 'image/png' })) })
    expect((await send(other.url, signed(BODY))).status).toBe(200)
    expect(other.lines()).toEqual(['accepted', 'handled'])
  })

  it('trap 3: rejects bytes that express.json has inflated', async () => {
    const { gzipSync } = await import('node:zlib')
    const keep = express.json({ verify: (req, _res, bytes) => void Object.assign(req, { rawBody: bytes }) })
    const { url, lines } = await mount({ before: (app) => app.use(keep) })
    const answer = await send(url, { ...signed(BODY, { 'content-encoding': 'gzip' }), body: gzipSync(BODY) })
    expect([answer.status, codeOf(answer.text)]).toEqual([415, 'content_encoding_unsupported'])
    expect(lines()).toEqual(['refused content_encoding_unsupported'])
  })

  it('trap 4 (stripe-node#356): accepts rawBody from a host next to a parsed body, but not a parsed body alone', async () => {
    const host =
      (rawBody: unknown): express.RequestHandler =>
      (req, _res, next) => {
        Object.assign(req, { rawBody, body: JSON.parse(BODY) })
        next()
      }
    const withBytes = await mount({ before: (app) => app.use(host(Buffer.from(BODY))) })
    expect((await send(withBytes.url, signed(BODY))).status).toBe(200)
    expect(withBytes.lines()).toEqual(['accepted', 'handled'])
    const parsed = await mount({ before: (app) => app.use(express.json(), host(BODY)) })
    expect((await send(parsed.url, signed(BODY))).status).toBe(500)
    expect(parsed.lines()).toEqual(['refused body_already_parsed'])
  })

  it('trap 5: verifies bytes that are not UTF-8, and rejects them only as a payload', async () => {
    const { url, lines, observed } = await mount()
    const body = Buffer.from([0x7b, 0x22, 0xfe, 0xff, 0x22, 0x7d])
    const answer = await send(url, signed(body))
    expect([answer.status, codeOf(answer.text)]).toEqual([400, 'payload_malformed'])
    expect(lines()).toEqual(['refused payload_malformed'])
    expect(Buffer.from(observed[0]?.body ?? [])).toEqual(body)
  })

  it('trap 6: returns 500, instead of throwing, for a Request whose body was already read', async () => {
    const { receiver, lines, observed } = await mount()
    const request = new Request('http://a.example', {
      method: 'POST',
      body: BODY,
      headers: { 'x-service': signatureOf(BODY) },
    })
    await request.text()
    let status = 0
    await warningsOf(async () => {
      status = (await receiver.fetch(request)).status
    })
    expect(status).toBe(500)
    expect(lines()).toEqual(['refused body_already_parsed'])
    expect(observed[0]?.error?.message).toContain('clone()')
  })

  it('trap 7 (stream-chat-js#1735): rejects a compressed body, whichever bytes were signed', async () => {
    const { gzipSync } = await import('node:zlib')
    const { url, lines } = await mount()
    const body = gzipSync(BODY)
    for (const signature of [signatureOf(BODY), signatureOf(body)]) {
      const answer = await send(url, {
        ...signed(BODY, { 'x-service': signature, 'content-encoding': 'gzip' }),
        body,
      })
      expect(answer.status).toBe(415)
    }
    expect(lines()).toEqual(Array(2).fill('refused content_encoding_unsupported'))
  })
})

describe('signature', () => {
  const hex = signatureOf(BODY)
  const base64 = Buffer.from(hex, 'hex').toString('base64')

  it.each([
    ['trap 8: not hex', 'zz'],
    ['trap 8: hex with trailing junk', `${hex}zz`],
    ['trap 8: hex cut by the decoder', `${hex.slice(0, 62)}zz`],
    ['trap 8: base64 with junk', `${base64}!!`],
    ['trap 8: base64 with extra bits at the end', `${base64.slice(0, 42)}B=`],
    ['trap 9 (liam#1020): not ASCII', Buffer.from('\u00fc'.repeat(64)).toString('latin1')],
    ['trap 9: odd length', hex.slice(1)],
    ['trap 9: doubled in one header', `${hex}, ${hex}`],
    ['trap 9: doubled in two headers', [hex, hex]],
    ['trap 9: empty', ''],
  ])('%s', async (_, signature) => {
    const { url, lines } = await mount()
    const answer = await send(url, signed(BODY, { 'x-service': signature }))
    expect([answer.status, answer.text]).toEqual([
      401,
      '{"title":"Unauthorized","status":401,"code":"unauthorized"}',
    ])
    expect(lines()).toEqual([signature === '' ? 'refused signature_missing' : 'refused signature_malformed'])
  })

  it('trap 9a: distinguishes byte 0xFE from U+FFFD, includes a byte order mark, and verifies an empty body', async () => {
    const { url, lines } = await mount()
    const replaced = '{"a":"\ufffd"}'
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xfe]), Buffer.from('"}')])
    expect((await send(url, { ...signed(replaced), body: bytes })).status).toBe(401)
    expect((await send(url, { ...signed(BODY), body: `\ufeff${BODY}` })).status).toBe(401)
    expect((await send(url, signed(`\ufeff${BODY}`))).status).toBe(200)
    expect(lines()).toEqual([
      'refused signature_mismatch',
      'refused signature_mismatch',
      'accepted',
      'handled',
    ])
    const empty = { body: '', signature: signatureOf(''), signatureKey: KEY }
    expect(await verify(empty)).toEqual({ ok: true, keyIndex: 0 })
    expect(await verify({ ...empty, body: bytes, signature: signatureOf(bytes) })).toEqual({
      ok: true,
      keyIndex: 0,
    })
  })

  it.each(['', ' ', '\n'])(
    'trap 10 (bolt-js#2946): throws at construction for the empty or blank key %j',
    async (signatureKey) => {
      expect(() => createReceiver({ signatureKey })).toThrow(
        expect.objectContaining({ code: 'config_invalid' }),
      )
      await expect(verify({ body: '', signature: hex, signatureKey })).rejects.toMatchObject({
        code: 'config_invalid',
      })
    },
  )

  it('trap 10: rejects deliveries if a function returns an empty key', async () => {
    const { url, lines } = await mount({ options: { signatureKey: () => '' } })
    expect((await send(url, signed(BODY, { 'x-service': signatureOf(BODY, '') }))).status).toBe(401)
    expect(lines()).toEqual(['refused key_unknown'])
  })

  it.each([`${KEY}\n`, ` ${KEY}`, `${KEY}\r\n`])(
    'trap 11 (stripe-node#1980): rejects the key %j with a hint',
    (signatureKey) => {
      const hint = expect.stringContaining('white space')
      expect(() => createReceiver({ signatureKey })).toThrow(
        expect.objectContaining({ code: 'config_invalid', hint }),
      )
    },
  )

  it('trap 12 (octokit/webhooks.js#770, bolt-js#877): keys can be rotated, be replaced at runtime, and differ by tenant', async () => {
    const tenants = new Map([
      ['a', ['a-new', 'a-old']],
      ['b', ['b-key']],
    ])
    const { url, lines } = await mount({
      options: {
        signatureKey: async ({ url: path }) =>
          tenants.get(new URL(path, 'http://x').searchParams.get('tenant') ?? ''),
      },
    })
    const as = (tenant: string, key: string) =>
      send(`${url}?tenant=${tenant}`, signed(BODY, { 'x-service': signatureOf(BODY, key) })).then(
        ({ status }) => status,
      )
    expect([await as('a', 'a-new'), await as('a', 'a-old'), await as('b', 'b-key')]).toEqual([200, 200, 200])
    expect([await as('a', 'b-key'), await as('unknown', 'a-new')]).toEqual([401, 401])
    tenants.set('b', ['b-next'])
    expect([await as('b', 'b-key'), await as('b', 'b-next')]).toEqual([401, 200])
    expect(lines().filter((line) => line.startsWith('refused'))).toEqual([
      'refused signature_mismatch',
      'refused key_unknown',
      'refused signature_mismatch',
    ])
  })

  it.each([
    ['a body that looks like a handshake', { type: 'url_verification', challenge: 'x' }],
    ['a registration', { WebhookRegistry: true }],
    ['a ping', { ping: true, crc_token: 'x' }],
  ])('trap 13 (bolt-js#2897): always verifies, whatever the payload is: %s', async (_, payload) => {
    const { url, lines, calls } = await mount()
    const answer = await send(`${url}?crc_token=x&challenge=x`, {
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify(payload),
    })
    expect(answer.status).toBe(401)
    expect([lines(), calls]).toEqual([['refused signature_missing'], []])
  })

  it('trap 14 (stripe-node#356): explain() finds the cause of a mismatch with the data of the observer', async () => {
    const { explain } = await import('geohook')
    const { url, observed } = await mount()
    const answer = await send(url, { ...signed(BODY), body: `${BODY}\n` })
    expect(answer.text).not.toContain('mismatch')
    const { body = '', error } = observed[0] ?? {}
    expect(error?.hint).toContain('geohook explain')
    const headers = { 'x-service': signatureOf(BODY) }
    expect(await explain({ body, headers }, { signatureKey: KEY })).toMatchObject({
      cause: 'body_trailing_newline',
    })
  })
})

describe('payload', () => {
  it.each([FORM_TYPE, `${FORM_TYPE}; charset=utf-8`, `${FORM_TYPE};charset=UTF-8`])(
    'trap 15 (octokit/webhooks.js#158): accepts the content-type %s',
    async (type) => {
      const { url, lines, calls } = await mount()
      const body = `payload=${encodeURIComponent(BODY)}`
      expect((await send(url, signed(body, { 'content-type': type }))).status).toBe(200)
      expect([lines(), calls]).toEqual([['accepted', 'handled'], ['FeaturesCreated']])
    },
  )

  it.each<[string, string | Uint8Array, string, number]>([
    ['a prototype key', '{"__proto__":{"a":1}}', JSON_TYPE, 400],
    ['a prototype key in a form', '__proto__=1', FORM_TYPE, 400],
    ['deep nesting', '['.repeat(100_000), JSON_TYPE, 400],
    ['thousands of fields', 'a=1&'.repeat(5000), FORM_TYPE, 400],
    ['duplicate fields, as a list', 'a=1&a=2', FORM_TYPE, 200],
    ['a duplicate payload', 'payload=%7B%7D&payload=%7B%7D', FORM_TYPE, 400],
    ['invalid percent-encoding', 'a=%E0%A4%A', FORM_TYPE, 400],
    ['a byte order mark', '\ufeff{}', JSON_TYPE, 200],
    ['a lone surrogate', '{"a":"\\ud800"}', JSON_TYPE, 200],
    ['a lone surrogate in bytes', Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1'), JSON_TYPE, 400],
    ['an empty body', '', JSON_TYPE, 400],
  ])('trap 16: %s', async (_, body, type, status) => {
    const { url, lines } = await mount()
    const answer = await send(url, signed(body, { 'content-type': type }))
    expect(answer.status).toBe(status)
    expect(lines()).toEqual(status === 200 ? ['accepted', 'handled'] : ['refused payload_malformed'])
    expect(({} as Record<string, unknown>).a).toBeUndefined()
  })

  it.each(['__proto__', 'constructor', 'error', 'toString', 'hasOwnProperty'])(
    'trap 17: accepts %s as a change type',
    async (name) => {
      const { url, lines, calls, receiver } = await mount()
      const named: string[] = []
      receiver.on(name, (event) => named.push(event.changeType))
      expect((await send(url, signed(payloadOf(name)))).status).toBe(200)
      expect([calls, named]).toEqual([[name], [name]])
      expect((await send(url, signed(payloadOf('FeaturesCreated')))).status).toBe(200)
      expect(named).toEqual([name])
      expect(lines()).toEqual(['accepted', 'handled', 'accepted', 'handled'])
      expect(parsePayload({ body: `{"events":["${name}"]}`, contentType: JSON_TYPE })).toMatchObject({
        changeTypes: [name],
      })
    },
  )
})

describe('delivery', () => {
  it('trap 21: returns 408 for a stalled upload and closes the connection', async () => {
    const { url, lines, calls } = await mount({ options: { bodyTimeout: 50 } })
    const req = begin(url, { ...signed(BODY).headers, 'content-length': BODY.length }, BODY.slice(0, 5))
    const answer = await answerOf(req)
    expect([answer.status, codeOf(answer.text), answer.headers.connection]).toEqual([
      408,
      'body_timeout',
      'close',
    ])
    expect([lines(), calls]).toEqual([['refused body_timeout'], []])
  })

  it('trap 22: responds normally if an error message is not ASCII', async () => {
    const { url, lines, receiver } = await mount()
    receiver.on('*', () => {
      throw new Error('caf\u00e9 \u{1f30d}\r\nx-evil: 1')
    })
    const answer = await send(url, signed(BODY))
    expect([answer.status, codeOf(answer.text), answer.headers['x-evil']]).toEqual([
      500,
      'handler_failed',
      undefined,
    ])
    expect(lines()).toEqual(['accepted', 'failed handler_failed'])
  })
})

it('trap 23 (stripe-node#601): createSigner() signs requests for tests', async () => {
  const { url, lines, calls } = await mount()
  const request = await createSigner({ signatureKey: KEY }).sign(createPayload('FeaturesDeleted'))
  expect((await fetch(url, request)).status).toBe(200)
  expect([lines(), calls]).toEqual([['accepted', 'handled'], ['FeaturesDeleted']])
  expect(request.headers['x-service']).toBe(await sign({ body: request.body, signatureKey: KEY }))
})
