import { createReceiver, type ReceiverOptions, service } from 'geohook'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { base64Of, deliver, JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { type ReceiverRequest, receiverPort } from '../helpers/receiver-port.ts'

const observer = { refused() {} }
const create = (options: object) => createReceiver({ signatureKey: KEY, observer, ...options })
const invalid = expect.objectContaining({ code: 'config_invalid' })
const store = { claim() {}, done() {}, release() {} }

describe('createReceiver accepts', () => {
  it.each<[object]>([
    [{ limit: 1 }],
    [{ limit: '1b' }],
    [{ limit: Number.MAX_SAFE_INTEGER }],
    [{ bodyTimeout: 1 }],
    [{ bodyTimeout: 2 ** 31 - 1 }],
    [{ maxAge: 1 }],
    [{ maxAge: 30 * 24 * 3_600_000 }],
    [{ maxAge: Number.MAX_SAFE_INTEGER }],
    [{ signatureHeader: "!#$%&'*+-.^_`|~09azAZ" }],
    [{ duplicates: store }],
  ])('%j', (options) => {
    expect(() => create(options)).not.toThrow()
  })
})

describe('createReceiver rejects', () => {
  it.each<[object]>([
    [{ limit: 1.5 }],
    [{ limit: 2 ** 53 }],
    [{ limit: '9007199254740992b' }],
    [{ limit: '100' }],
    [{ limit: '1.5mb' }],
    [{ limit: 'x1mb' }],
    [{ limit: '1  mb' }],
    [{ limit: '1tb' }],
    [{ limit: '-1b' }],
    [{ bodyTimeout: 1.5 }],
    [{ maxAge: 0 }],
    [{ maxAge: 1.5 }],
    [{ maxAge: 2 ** 53 }],
    [{ limit: '1 megabyte' }],
    [{ signatureHeader: 7 }],
    [{ signatureHeader: 'x:service' }],
    [{ signatureHeader: 'x-service,' }],
    [{ signatureHeader: '"x-service' }],
    [{ signatureKey: '', unsigned: 'accept' }],
    [{ unsigned: 'maybe' }],
    [{ untimed: true }],
    [{ duplicates: { ...store, claim: 'x' } }],
    [{ duplicates: { ...store, done: 'x' } }],
    [{ inbox: { put: 'x' } }],
    [{ schema: { '~standard': {} } }],
  ])('%j', (options) => {
    expect(() => create(options)).toThrow(invalid)
  })
})

it.each<[string, number]>([
  ['7b', 7],
  ['1kb', 1024],
  ['3 mb', 3 * 1024 ** 2],
  ['2GB', 2 * 1024 ** 3],
])('a size of %s is %i bytes', (size, bytes) => {
  expect(() => create({ limit: bytes, maxInFlightBytes: size })).not.toThrow()
  expect(() => create({ limit: bytes + 1, maxInFlightBytes: size })).toThrow(invalid)
})

it('names the option in the error', () => {
  expect(() => create({ limit: 0 })).toThrow('limit must be a number of bytes')
  expect(() => create({ bodyTimeout: 0 })).toThrow('bodyTimeout must be')
  expect(() => create({ maxAge: 0 })).toThrow('maxAge must be')
  expect(() => create({ unsigned: 7 })).toThrow('unsigned must be')
  expect(() => create({ untimed: 7 })).toThrow('untimed must be')
  expect(() => create({ clock: 7 })).toThrow('clock must be a function')
  expect(() => create({ duplicates: {} })).toThrow(
    'duplicates must be an object with claim(), done(), release()',
  )
  expect(() => create({ inbox: {} })).toThrow('inbox must be an object with put()')
  expect(() => create({ schema: {} })).toThrow('schema must be a Standard Schema')
  expect(() => create({ signatureHeader: '' })).toThrow('signatureHeader')
})

describe('the profile', () => {
  const body = payloadOf('A')
  const hex = { 'x-service': signatureOf(body) }
  const base64 = { 'x-service': base64Of(body) }
  const statusOf = async (options: Partial<ReceiverOptions>, headers: Record<string, string>) =>
    (await deliver(create(options), body, headers)).status

  it('sets the encoding, unless an option sets it', async () => {
    const profile = { ...service, encoding: 'hex' } as const
    expect([await statusOf({ profile }, hex), await statusOf({ profile }, base64)]).toEqual([200, 401])
    const options = { profile, encoding: 'base64' } as const
    expect([await statusOf(options, hex), await statusOf(options, base64)]).toEqual([401, 200])
    expect([await statusOf({}, hex), await statusOf({}, base64)]).toEqual([200, 200])
  })

  it('can be given by name', async () => {
    const header = { 'x-service': '', 'x-esrihook-signature': `sha256=${base64Of(body)}` }
    expect([
      await statusOf({ profile: 'arcgis' }, header),
      await statusOf({ profile: 'arcgis' }, hex),
    ]).toEqual([200, 401])
    expect([
      await statusOf({ profile: 'service' }, header),
      await statusOf({ profile: 'service' }, hex),
    ]).toEqual([401, 200])
    const profiles: unknown[] = []
    const receiver = create({
      profile: 'arcgis',
      observer: { accepted: (seen: unknown) => profiles.push(seen) },
    })
    await deliver(receiver, body, header)
    expect(profiles).toMatchObject([{ delivery: { profile: 'arcgis' } }])
  })

  it.each<[unknown, string]>([
    ['esri', 'unknown profile esri: use service, arcgis, portal or an object'],
    ['__proto__', 'unknown profile __proto__: use service, arcgis, portal or an object'],
    [7, 'the profile members must be an object'],
    [
      { ...service, signatureHeaders: 'x' },
      'unknown profile member signatureHeaders: did you mean signatureHeader?',
    ],
    [{ ...service, name: 7 }, 'profile.name must be a string'],
    [
      { ...service, handshake: { parameter: 'crc_token' } },
      'profile.handshake needs a parameter and a member',
    ],
    [{ signatureHeader: 'x-mine' }, 'profile.name must be a string'],
    [{ name: 'mine' }, 'signatureHeader is not a valid HTTP header name'],
  ])('%j is refused', (profile, message) => {
    expect(() => create({ profile })).toThrow(message)
  })

  it('sets the signature header, unless an option sets it', async () => {
    const profile = { ...service, signatureHeader: 'X-Other' }
    const other = { 'x-service': '', 'x-other': signatureOf(body) }
    expect([await statusOf({ profile }, other), await statusOf({ profile }, hex)]).toEqual([200, 401])
    const options = { profile, signatureHeader: 'X-Service' }
    expect([await statusOf(options, other), await statusOf(options, hex)]).toEqual([401, 200])
  })
})

/** Creates a request as an adapter does, with its body in one chunk. */
function requestOf(headers: ReceiverRequest['headers'], body = Buffer.from('{}')) {
  const read = vi.fn(({ onChunk }: Parameters<ReceiverRequest['read']>[0]) => {
    onChunk(body)
    return body
  })
  const signed = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }
  return { method: 'POST', url: '/', headers: { ...signed, ...headers }, read }
}

it.each([
  ['99', 200],
  ['100', 200],
  ['101', 413],
  ['1e9', 413],
  ['many', 200],
])('a content-length of %s, with a limit of 100, gets %i', async (length, status) => {
  const request = requestOf({ 'content-length': length })
  expect((await receiverPort(create({ limit: 100 })).receive(request)).status).toBe(status)
  expect(request.read.mock.calls.length).toBe(status === 200 ? 1 : 0)
})

it.each([
  ['', 200],
  ['identity', 200],
  [' Identity ', 200],
  ['gzip', 415],
  ['identity, gzip', 415],
])('the content-encoding %j gets %i', async (encoding, status) => {
  const request = requestOf({ 'content-encoding': encoding })
  expect((await receiverPort(create({})).receive(request)).status).toBe(status)
  expect(request.read.mock.calls.length).toBe(status === 200 ? 1 : 0)
})

it('limits the bodies in flight to 64 MiB in total by default', async () => {
  const receiver = create({ unsigned: 'accept' })
  const { gate, release } = createGate()
  const chunk = new Uint8Array(2 ** 20)
  const waiting = Array.from({ length: 64 }, () => {
    const arrived = createGate()
    const outcome = receiverPort(receiver).receive({
      method: 'POST',
      url: '/',
      headers: { 'content-type': JSON_TYPE },
      async read({ onChunk }) {
        onChunk(chunk)
        arrived.release()
        await gate
        return Buffer.from('{}')
      },
    })
    return { outcome, arrived: arrived.gate }
  })
  await Promise.all(waiting.map(({ arrived }) => arrived))
  const refused = await receiverPort(receiver).receive(requestOf({}))
  expect([refused.status, refused.error?.code]).toEqual([503, 'receiver_busy'])
  release()
  const outcomes = await Promise.all(waiting.map(({ outcome }) => outcome))
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200]))
  expect((await receiverPort(receiver).receive(requestOf({}))).status).toBe(200)
})

it('clears its timer once the body is read', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { read, ...request } = requestOf({})
  const receiver = create({})
  for (const reading of [async (options: never) => read(options), () => Promise.reject(new Error('gone'))])
    await receiverPort(receiver).receive({ ...request, read: reading as ReceiverRequest['read'] })
  expect((await receiver.stats()).outcomes).toMatchObject({ unhandled: 1, refused: 1 })
  expect(vi.getTimerCount()).toBe(0)
})

it.each([undefined, null, 'gone', new Error('gone'), { name: 'Error' }])(
  'reports handler_failed if the adapter fails with %j while reading',
  async (thrown) => {
    const outcome = await receiverPort(create({})).receive({
      ...requestOf({}),
      read: () => Promise.reject(thrown),
    })
    expect([outcome.kind, outcome.status, outcome.error?.code]).toEqual(['refused', 500, 'handler_failed'])
    expect(outcome.error?.cause).toBe(thrown)
  },
)
