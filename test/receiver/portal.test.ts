import { createHash } from 'node:crypto'
import { createReceiver, portal, type ReceiverOptions, type SecretProfile } from 'geohook'
import { createMemoryDuplicates, createMemoryInbox } from 'geohook/inbox'
import { createPayload } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { deliver, FORM_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { warningsOf } from '../helpers/warnings.ts'

const BODY = JSON.stringify(createPayload('add', { dialect: 'organization', when: 1730385704000 }))
const LONG_KEY = 'k'.repeat(65)
const sha256 = (text: string) => createHash('sha256').update(text).digest().toString('latin1')
const UNSIGNED = { 'x-service': '' }

/** Creates a portal receiver, and returns functions that deliver to it. */
function createPortal(options: Partial<ReceiverOptions> = {}) {
  const recorder = createRecorder()
  const base = { profile: 'portal', signatureKey: KEY, observer: recorder.observer } as const
  const receiver = createReceiver({ ...base, ...options } as ReceiverOptions)
  if (!options.inbox) receiver.on('*', () => {})
  const send = (headers: Record<string, string>, body = BODY) =>
    deliver(receiver, body, { ...UNSIGNED, ...headers })
  return { receiver, recorder, send }
}

describe('a receiver with the profile portal', () => {
  it('accepts the key in the header secret, and no signature', async () => {
    const { send, recorder } = createPortal()
    expect((await send({ secret: KEY })).status).toBe(200)
    const { delivery } = recorder.calls[0] ?? {}
    expect(delivery).toMatchObject({ profile: 'portal', keyIndex: 0, changeTypes: ['add'] })
  })

  it.each<[string, Record<string, string>, string]>([
    ['no header', {}, 'signature_missing'],
    ['an empty header', { secret: '' }, 'signature_missing'],
    ['another key', { secret: 'other' }, 'signature_mismatch'],
    ['the first half of the key', { secret: KEY.slice(0, 5) }, 'signature_mismatch'],
    ['the key in another case', { secret: KEY.toUpperCase() }, 'signature_mismatch'],
    ['the key twice', { secret: `${KEY}, ${KEY}` }, 'signature_mismatch'],
    ['the key with a suffix', { secret: `${KEY}x` }, 'signature_mismatch'],
    ['a signature', { secret: signatureOf(BODY) }, 'signature_mismatch'],
    ['a signature in x-service', { 'x-service': signatureOf(BODY) }, 'signature_missing'],
    ['the key in x-service', { 'x-service': KEY }, 'signature_missing'],
  ])('refuses %s with the same 401 as every other', async (_, headers, code) => {
    const { send, recorder } = createPortal()
    const { status, body, headers: answered } = await send(headers)
    expect([status, body]).toEqual([401, { title: 'Unauthorized', status: 401, code: 'unauthorized' }])
    expect(answered.get('www-authenticate')).toBe('HMAC-SHA256')
    expect(recorder.lines).toEqual([`refused ${code}`])
  })

  it('refuses a wrong key before it reads the body', async () => {
    const { receiver, recorder } = createPortal()
    const { status } = await receiverPort(receiver).receive({
      method: 'POST',
      url: '/',
      headers: { secret: 'other', 'content-type': 'application/json' },
      read: () => expect.unreachable(),
    })
    expect([status, recorder.lines]).toEqual([401, ['refused signature_mismatch']])
  })

  // Each of these has the same HMAC as the key: HMAC hashes keys of more than 64 bytes, and pads shorter ones with zeros.
  it.each<[string, string, string]>([
    ['the SHA-256 of a key over 64 bytes', LONG_KEY, sha256(LONG_KEY)],
    ['the key and a NUL', KEY, `${KEY}\0`],
    ['the key and NULs up to 64 bytes', KEY, KEY.padEnd(64, '\0')],
    ['the key without its NUL', `${KEY}\0`, KEY],
  ])('refuses %s', async (_, signatureKey, secret) => {
    const { receiver, recorder } = createPortal({ signatureKey: ['old', signatureKey] })
    const ask = async (value: string) => {
      const headers = { secret: value, 'content-type': 'application/json' }
      const read = () => Buffer.from(BODY)
      return (await receiverPort(receiver).receive({ method: 'POST', url: '/', headers, read })).status
    }
    expect([await ask(secret), await ask(signatureKey)]).toEqual([401, 200])
    expect(recorder.lines[0]).toBe('refused signature_mismatch')
  })

  it('finds the key among others with the same HMAC', async () => {
    const { receiver, recorder } = createPortal({ signatureKey: [`${KEY}\0`, KEY] })
    const headers = { secret: KEY, 'content-type': 'application/json' }
    const read = () => Buffer.from(BODY)
    expect((await receiverPort(receiver).receive({ method: 'POST', url: '/', headers, read })).status).toBe(
      200,
    )
    expect(recorder.calls[0]?.delivery?.keyIndex).toBe(1)
  })

  it('compares with every key of the ring, and names the one that matched', async () => {
    const { send, recorder } = createPortal({ signatureKey: ['new', Buffer.from('old'), KEY] })
    for (const secret of ['new', 'old', KEY]) expect((await send({ secret })).status).toBe(200)
    const accepted = recorder.calls.filter(({ name }) => name === 'accepted')
    expect(accepted.map(({ delivery }) => delivery?.keyIndex)).toEqual([0, 1, 2])
  })

  it('accepts a key with other characters, which platforms decode as Latin-1', async () => {
    const key = 'Schlüssel €'
    const { send } = createPortal({ signatureKey: key })
    expect((await send({ secret: Buffer.from(key).toString('latin1') })).status).toBe(200)
    const { receiver } = createPortal({ signatureKey: key })
    const read = () => Buffer.from(BODY)
    const headers = { secret: key, 'content-type': 'application/json' }
    expect((await receiverPort(receiver).receive({ method: 'POST', url: '/', headers, read })).status).toBe(
      200,
    )
  })

  it('has a key for each tenant, and uses that of no other', async () => {
    const keys: Record<string, string | string[]> = { a: 'a-key', b: ['b-new', 'b-old'] }
    const { send, recorder } = createPortal({
      signatureKey: ({ headers }) => keys[String(headers['x-tenant'])],
    })
    const as = async (tenant: string, secret: string) => (await send({ secret, 'x-tenant': tenant })).status
    expect([await as('a', 'a-key'), await as('b', 'b-old')]).toEqual([200, 200])
    expect([await as('a', 'b-new'), await as('b', 'a-key'), await as('c', 'a-key')]).toEqual([401, 401, 401])
    expect(recorder.lines.slice(4)).toEqual([
      'refused signature_mismatch',
      'refused signature_mismatch',
      'refused key_unknown',
    ])
  })

  it('hides the key from key functions, observers, handlers and the inbox', async () => {
    const seen: unknown[] = []
    const record = (one: unknown) => void seen.push(one)
    const inbox = createMemoryInbox()
    for (const secret of [KEY, 'a wrong secret']) {
      const { send } = createPortal({
        inbox,
        signatureKey(request) {
          record(request)
          return KEY
        },
        observer: { around: record, accepted: record, handled: record, refused: record },
      })
      await send({ secret })
    }
    seen.push(await inbox.get((await inbox.list()).entries[0]?.id ?? ''))
    expect(seen.length).toBeGreaterThan(6)
    expect(JSON.stringify(seen)).not.toMatch(new RegExp(`${KEY}|a wrong secret`))
    expect(JSON.stringify(seen)).toContain('"secret":"***"')
  })

  it('gives a delivery the id that it would have if it were signed', async () => {
    const { send, recorder } = createPortal({ signatureKey: ['new', KEY] })
    const signed = createRecorder()
    const other = createReceiver({ signatureKey: KEY, observer: signed.observer })
    for (const body of [BODY, BODY, `${BODY} `]) {
      await send({ secret: KEY }, body)
      await deliver(other, body)
    }
    const idsOf = ({ calls }: typeof recorder) =>
      calls.flatMap(({ name, delivery }) => (name === 'accepted' ? delivery?.id : []))
    expect(idsOf(recorder)).toEqual(idsOf(signed))
    const [first, second, third] = idsOf(recorder)
    expect([second === first, third === first]).toEqual([true, false])
  })

  it('recognizes duplicates', async () => {
    const { send, recorder } = createPortal({ duplicates: createMemoryDuplicates() })
    for (let attempt = 0; attempt < 2; attempt++) expect((await send({ secret: KEY })).status).toBe(200)
    expect(recorder.lines).toEqual(['accepted', 'handled', 'accepted', 'duplicate'])
  })

  it('accepts forms', async () => {
    const { send, recorder } = createPortal()
    const body = new URLSearchParams({ payload: BODY }).toString()
    expect((await send({ secret: KEY, 'content-type': FORM_TYPE }, body)).status).toBe(200)
    expect(recorder.calls[0]?.delivery?.changeTypes).toEqual(['add'])
  })

  it('answers no handshake', async () => {
    const { receiver } = createPortal()
    const answer = await receiver.fetch(new Request('http://a.example/?crc_token=a'))
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it("accepts a request without the header with unsigned: 'accept', but not with a wrong key", async () => {
    const { send, recorder } = createPortal({ unsigned: 'accept' })
    expect([(await send({})).status, (await send({ secret: 'other' })).status]).toEqual([200, 401])
    expect('keyIndex' in (recorder.calls[0]?.delivery ?? {})).toBe(false)
  })
})

describe('the registration of a portal webhook', () => {
  const registration = JSON.stringify({ WebhookRegistry: { id: 'w1' } })

  it.each([{ secret: KEY }, {}])(
    'gets 200, and reaches neither handlers nor the inbox: %j',
    async (headers) => {
      const inbox = createMemoryInbox()
      const { send, recorder, receiver } = createPortal({ inbox })
      expect(await send(headers as Record<string, string>, registration)).toMatchObject({
        status: 200,
        body: { status: 'registered' },
      })
      expect([recorder.lines, (await inbox.list()).entries]).toEqual([['handshake'], []])
      expect((await receiver.stats()).outcomes).toMatchObject({ handshake: 1, stored: 0 })
    },
  )

  it('is refused with a wrong key, and by other profiles', async () => {
    const { send } = createPortal()
    expect((await send({ secret: 'other' }, registration)).status).toBe(401)
    const service = createPortal({ profile: 'service' })
    expect((await service.send({ secret: KEY }, registration)).status).toBe(401)
  })

  it('is not confused with a delivery that contains its name, or with a large body', async () => {
    const body = JSON.stringify(createPayload('WebhookRegistry', { dialect: 'organization' }))
    const { send, recorder } = createPortal()
    expect((await send({ secret: KEY }, body)).status).toBe(200)
    expect(recorder.lines).toEqual(['accepted', 'handled'])
    expect((await send({}, body)).status).toBe(401)
    expect((await send({}, JSON.stringify({ WebhookRegistry: 'x'.repeat(5000) }))).status).toBe(401)
  })

  it.each([
    ['a body without its name', '{}', 401],
    ['its name with other members', '{"id":"w1", "WebhookRegistry" : {"events":["/"]},"info":{}}', 200],
    ['a form', 'payload=%7B%0A%22WebhookRegistry%22+%3A+true%7D', 200],
    ['its name as a value', '{"name":"WebhookRegistry"}', 401],
    ['its name in a text', '{"name":"\\"WebhookRegistry\\":"}', 401],
    ['its name outside an object', '["WebhookRegistry"]', 401],
    ['the bare name', 'WebhookRegistry', 401],
  ])('is recognised in a request without the secret: %s', async (_, body, status) => {
    expect((await createPortal().send({}, body)).status).toBe(status)
  })

  it.each([
    ['a value', { events: [{ operation: 'update', when: 1, id: 'WebhookRegistry' }] }],
    ['a value, of another dialect', { changeTypes: ['update'], name: 'WebhookRegistry' }],
    ['a member', { WebhookRegistry: {}, info: {}, events: [{ operation: 'update', when: 1 }] }],
    ['a member, of another dialect', { WebhookRegistry: {}, changeTypes: ['update'] }],
  ])('does not treat a delivery that contains its name as a registration: %s', async (_, payload) => {
    const body = JSON.stringify(payload)
    for (const options of [{}, { unsigned: 'accept' }] as const) {
      const { send, recorder } = createPortal(options)
      const headers: Record<string, string> = 'unsigned' in options ? {} : { secret: KEY }
      expect((await send(headers, body)).status).toBe(200)
      expect(recorder.lines).toEqual(['accepted', 'handled'])
    }
  })

  it.each([
    ['a media type that is not supported', 415, 'text/plain', (body: string) => body],
    ['JSON that was cut', 400, 'application/json', (body: string) => body.slice(0, -1)],
    ['a form', 400, FORM_TYPE, (body: string) => `payload=${encodeURIComponent(body.slice(0, -1))}`],
  ])('never accepts a delivery in its place that cannot be decoded: %s', async (_, status, type, change) => {
    const event = { operation: 'update', when: 1, properties: { WebhookRegistry: {} } }
    const delivery = change(JSON.stringify({ info: {}, events: [event] }))
    const names = change(JSON.stringify({ WebhookRegistry: { events: ['/'] } }))
    for (const unsigned of ['reject', 'accept'] as const) {
      const { send } = createPortal({ unsigned })
      const headers: Record<string, string> = {
        'content-type': type,
        ...(unsigned === 'reject' && { secret: KEY }),
      }
      expect((await send(headers, delivery)).status).toBe(status)
      expect((await send(headers, names)).status).toBe(200)
    }
  })
})

describe('a profile with secretHeader', () => {
  it('can name another header, which is redacted like secret', async () => {
    const profile: SecretProfile = { name: 'gateway', secretHeader: 'X-Token' }
    const { send, recorder } = createPortal({ profile })
    expect((await send({ 'x-token': KEY, secret: 'another' })).status).toBe(200)
    const { delivery } = recorder.calls[0] ?? {}
    expect(delivery).toMatchObject({ profile: 'gateway', headers: { 'x-token': '***', secret: '***' } })
    expect((await send({ secret: KEY })).status).toBe(401)
  })

  it.each<[object, string]>([
    [{ profile: 'portal', signatureHeader: 'x-mine' }, 'signatureHeader contradicts'],
    [{ profile: 'portal', encoding: 'hex' }, 'encoding contradicts'],
    [{ profile: { ...portal, signatureHeader: 'x-mine' } }, 'profile.signatureHeader contradicts'],
    [{ profile: { ...portal, encoding: 'auto' } }, 'profile.encoding contradicts'],
    [{ profile: { ...portal, handshake: { parameter: 'a', member: 'b' } } }, 'profile.handshake contradicts'],
    [{ profile: { name: 'mine', secretHeader: '' } }, 'profile.secretHeader is not a valid HTTP header name'],
    [{ profile: { name: 'mine', secretHeader: 7 } }, 'profile.secretHeader is not a valid HTTP header name'],
    [{ profile: { name: 'mine', secretHeader: 'Content-Type' } }, 'profile.secretHeader describes the body'],
    [{ profile: { secretHeader: 'secret' } }, 'profile.name must be a string'],
  ])('%j is refused', (options, message) => {
    expect(() => createReceiver({ signatureKey: KEY, ...options } as ReceiverOptions)).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
    )
  })

  it('warns once, at construction, that the body is not signed', async () => {
    const lines = await warningsOf(async () => {
      const { send } = createPortal()
      await send({ secret: KEY })
      await send({ secret: KEY })
    })
    expect(lines).toEqual([
      expect.stringMatching(/^body_unsigned: .*portal do not sign the body.*header secret.*HTTPS/),
    ])
    const accepting = await warningsOf(() => createPortal({ unsigned: 'accept' }))
    expect(accepting).toEqual([expect.stringMatching(/^unsigned_accepted: /)])
  })
})

it('takes as long for a tenant without a key as for a wrong key', { retry: 9 }, async () => {
  const receiver = createReceiver({
    profile: 'portal',
    signatureKey: ({ url }) => (url.startsWith('/known') ? ['k'.repeat(40), KEY] : undefined),
    observer: { refused() {} },
  })
  const bytes = new TextEncoder().encode(payloadOf('A'))
  const requestTo = (url: string) => ({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', secret: 'a wrong secret' },
    read: () => bytes,
  })
  const requests = [requestTo('/known'), requestTo('/unknown')] as const
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < 1000; round++) {
    for (const side of round % 2 ? ([0, 1] as const) : ([1, 0] as const)) {
      const started = performance.now()
      await receiverPort(receiver).receive(requests[side])
      if (round >= 200) times[side].push(performance.now() - started)
    }
  }
  const [first, second] = times.map((list) => list.sort((a, b) => a - b)[list.length >> 1] as number)
  expect((first as number) / (second as number)).toBeGreaterThan(0.85)
  expect((first as number) / (second as number)).toBeLessThan(1 / 0.85)
})
