import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { createReceiver, type Delivery, type StoredDelivery, WebhookError } from 'geohook'
import { createMemoryDuplicates, packDelivery, UnpackError, unpackDelivery } from 'geohook/inbox'
import { describe, expect, it, vi } from 'vitest'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'
import { deliveryOf, editOf, idOf } from './deliveries.ts'

/** The seed of this run, shown in the title. To repeat a failure: `SEED=… npx vitest run test/inbox/pack.test.ts`. */
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

const { payload: _, events: __, changeTypes: ___, ...STORED } = deliveryOf()

/** The members that `unpackDelivery` returns. */
const storedOf = ({ payload: _, events: __, changeTypes: ___, ...stored }: Delivery): StoredDelivery => stored

/** Any UTF-16 code units, also NUL and unpaired surrogates. */
const anyText = fc
  .array(fc.oneof(fc.nat(0xffff), fc.constantFrom(0, 0x7f, 0x22, 0x5c, 0x2028, 0xd800, 0xdfff)), {
    maxLength: 30,
  })
  .map((units) => String.fromCharCode(...units))
const headers = fc.dictionary(
  fc.constantFrom('x-service', 'x-a', 'content-type', 'constructor', '__proto__', 'toString'),
  fc.oneof(anyText, fc.array(anyText, { maxLength: 3 })),
  { noNullPrototype: true },
)
const deliveries: fc.Arbitrary<Delivery> = fc
  .record(
    {
      id: fc
        .array(fc.constantFrom(...'0123456789abcdef'), { minLength: 32, maxLength: 32 })
        .map((a) => a.join('')),
      rawBody: fc.uint8Array({ maxLength: 400 }),
      contentType: anyText,
      headers,
      receivedAt: fc.date({ noInvalidDate: true }),
      profile: anyText.filter((text) => text !== ''),
      changeTypes: fc.array(anyText, { maxLength: 30 }),
      keyIndex: fc.nat(99),
      tenant: fc.constantFrom('a', '\u2028 \u00e9 __proto__', '\ud83d\ude00'.repeat(200)),
    },
    { requiredKeys: ['id', 'rawBody', 'contentType', 'headers', 'receivedAt', 'profile', 'changeTypes'] },
  )
  .map((members) => ({ ...members, payload: {}, events: [] }) as Delivery)

/** The members of a packed delivery, changed. */
const changed = (change: object): string =>
  JSON.stringify({ ...JSON.parse(packDelivery(deliveryOf())), ...change })

const errorOf = (call: () => unknown): WebhookError => {
  try {
    call()
  } catch (error) {
    return error as WebhookError
  }
  throw new Error('it did not throw')
}

describe(`a packed delivery, seed ${seed}`, () => {
  it('is unpacked unchanged', () => {
    fc.assert(
      fc.property(deliveries, (delivery) => {
        // Vitest's toStrictEqual fails for a header named `constructor`.
        expect(isDeepStrictEqual(unpackDelivery(packDelivery(delivery)), storedOf(delivery))).toBe(true)
      }),
      { seed, numRuns: 1_000 },
    )
  })

  it('is one line of printable ASCII, whatever the delivery contains', () => {
    fc.assert(
      fc.property(deliveries, (delivery) => {
        expect(packDelivery(delivery)).toMatch(/^[\x20-\x7e]+$/)
      }),
      { seed, numRuns: 1_000 },
    )
  })

  it('with a changed character is unreadable or a valid delivery with an intact body', () => {
    const text = packDelivery({ ...editOf(), tenant: 'a', keyIndex: 0 })
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.nat(0x7f), (at, code) => {
        const other = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1)
        try {
          const { id, rawBody, receivedAt } = unpackDelivery(other)
          expect(id).toMatch(/^[0-9a-f]{32}$/)
          expect(rawBody.length).toBe(JSON.parse(other).size)
          expect(receivedAt.getTime()).not.toBeNaN()
        } catch (error) {
          expect(error).toBeInstanceOf(UnpackError)
        }
      }),
      { seed, numRuns: 2_000 },
    )
  })

  it('any other text is unreadable', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, fc.json()), (text) => {
        const error = errorOf(() => unpackDelivery(text)) as UnpackError
        expect([error.code, error.version]).toEqual(['delivery_unreadable', undefined])
      }),
      { seed, numRuns: 1_000 },
    )
  })
})

it('has the documented members', () => {
  const delivery = { ...editOf('Parcels'), keyIndex: 1, tenant: 'a', headers: { 'x-a': 'b' } }
  const changesUrl =
    'https://gis.example.com/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[1,2]'
  const events = [{ changesUrl }, { changesUrl }] as unknown as Delivery['events']
  const { rawBody, receivedAt } = delivery
  expect(JSON.parse(packDelivery({ ...delivery, changeTypes: ['FeaturesCreated'], events }))).toEqual({
    geohook: 'delivery',
    v: 1,
    id: delivery.id,
    receivedAt: receivedAt.toISOString(),
    profile: 'service',
    keyIndex: 1,
    tenant: 'a',
    contentType: 'application/json',
    headers: { 'x-a': 'b' },
    changeTypes: ['FeaturesCreated'],
    service: 'https://gis.example.com/rest/services/Parcels/FeatureServer',
    size: rawBody.length,
    body: Buffer.from(rawBody).toString('base64'),
  })
})

it('has no service if the events are about several, or one has no changesUrl', () => {
  const urlOf = (name: string) => `https://a.example/${name}/FeatureServer/extractChanges?serverGens=1,2`
  for (const urls of [[urlOf('a'), urlOf('b')], [urlOf('a'), undefined], ['not a URL'], []]) {
    const events = urls.map((changesUrl) => ({ changesUrl })) as unknown as Delivery['events']
    expect(JSON.parse(packDelivery({ ...deliveryOf(), events }))).not.toHaveProperty('service')
  }
})

it('leaves out headers with credentials by default, and keeps the listed headers otherwise', () => {
  const secret = { Authorization: 'a', cookie: 'b', 'Proxy-Authorization': 'c', secret: '***' }
  const delivery = { ...deliveryOf(), headers: { ...secret, 'x-service': 'd', 'x-request-id': ['e', 'f'] } }
  const headersOf = (options?: { headers?: string[] }) =>
    unpackDelivery(packDelivery(delivery, options)).headers
  expect(headersOf()).toEqual({ 'x-service': 'd', 'x-request-id': ['e', 'f'] })
  expect(headersOf({ headers: ['X-Request-Id', 'authorization'] })).toEqual({
    Authorization: 'a',
    'x-request-id': ['e', 'f'],
  })
  expect(headersOf({ headers: [] })).toEqual({})
})

it('throws delivery_too_large above maxBytes', () => {
  const delivery = deliveryOf(new Uint8Array(1_000))
  const { length } = packDelivery(delivery)
  expect(packDelivery(delivery, { maxBytes: length }).length).toBe(length)
  expect(errorOf(() => packDelivery(delivery, { maxBytes: length - 1 })).code).toBe('delivery_too_large')
  expect(errorOf(() => packDelivery(delivery, { maxBytes: '1kb' })).code).toBe('delivery_too_large')
})

it('bounds the size of change types, which the sender chooses', () => {
  const changeTypes = Array.from({ length: 1_000 }, (_, index) => `${index}`.repeat(1_000))
  expect(packDelivery({ ...deliveryOf(), changeTypes }).length).toBeLessThan(5_000)
})

it.each([
  [{ headers: 'x-a' }, 'headers must be a list of header names'],
  [{ headers: ['a b'] }, 'headers must be a list of header names'],
  [{ headers: [1] }, 'headers must be a list of header names'],
  [{ maxBytes: 0 }, 'maxBytes must be a number of bytes'],
  [{ maxbytes: 1 }, 'did you mean maxBytes?'],
])('refuses the options %j', (options, message) => {
  const error = errorOf(() => packDelivery(deliveryOf(), options as never))
  expect([error.code, error.message]).toEqual(['config_invalid', expect.stringContaining(message)])
})

it.each([
  ['a missing member', { id: undefined }],
  ['an id in upper case', { id: idOf('A') }],
  ['a short id', { id: 'a'.repeat(31) }],
  ['a number as id', { id: 1 }],
  ['another size', { size: 11 }],
  ['a size as text', { size: '10' }],
  ['a body of another length', { body: 'AAAA' }],
  ['a body that is not base64', { body: 'AAAAAAAAAAAAA*==' }],
  ['a body with a space', { body: 'AAAAAAAA AAAAAA==' }],
  ['a body without padding', { body: 'AAAAAAAAAAAAAA' }],
  ['a body with other trailing bits', { body: 'AAAAAAAAAAAAAB==' }],
  ['a body that is a number', { body: 10 }],
  ['headers as a list', { headers: [] }],
  ['a header that is a number', { headers: { a: 1 } }],
  ['a nested header', { headers: { a: [['b']] } }],
  ['an empty profile', { profile: '' }],
  ['a content type that is null', { contentType: null }],
  ['a negative key index', { keyIndex: -1 }],
  ['a key index as text', { keyIndex: '0' }],
  ['an empty tenant', { tenant: '' }],
  ['a long tenant', { tenant: 'a'.repeat(201) }],
  ['a tenant that is null', { tenant: null }],
  ['a time that does not exist', { receivedAt: '2026-02-30T00:00:00.000Z' }],
  ['a time in another format', { receivedAt: 'today' }],
  ['a time as a number', { receivedAt: 1 }],
  ['another kind', { geohook: 'event' }],
  ['version 0', { v: 0 }],
  ['a version as text', { v: '2' }],
  ['no version', { v: undefined }],
])('%s is unreadable', (_, change) => {
  const error = errorOf(() => unpackDelivery(changed(change))) as UnpackError
  expect([error.code, error.name, error.version]).toEqual(['delivery_unreadable', 'UnpackError', undefined])
})

it.each([
  ['undefined', undefined],
  ['null', null],
  ['an object', {}],
  ['a buffer', Buffer.from('{}')],
  ['the empty text', ''],
  ['a list', '[]'],
  ['the text null', 'null'],
  ['the text of a JSON string', '"delivery"'],
  ['deeply nested text', '['.repeat(100_000)],
])('%s is unreadable', (_, text) => {
  expect(errorOf(() => unpackDelivery(text as string)).code).toBe('delivery_unreadable')
})

it('tells an unknown version from text that can never be read', () => {
  const error = errorOf(() => unpackDelivery('{"geohook":"delivery","v":2}')) as UnpackError
  expect(error).toBeInstanceOf(WebhookError)
  expect([error.code, error.version]).toEqual(['delivery_unreadable', 2])
})

it('ignores members that it does not know, and those for dashboards', () => {
  const { rawBody, receivedAt, id } = unpackDelivery(changed({ more: 1, changeTypes: 0, service: {} }))
  expect({ rawBody, id: id.length, receivedAt: receivedAt.constructor }).toEqual({
    rawBody: STORED.rawBody,
    id: 32,
    receivedAt: Date,
  })
})

it('needs no Buffer', () => {
  vi.stubGlobal('Buffer', undefined)
  try {
    const delivery = deliveryOf(new Uint8Array([0, 200, 255]))
    expect(unpackDelivery(packDelivery(delivery))).toStrictEqual(storedOf(delivery))
  } finally {
    vi.unstubAllGlobals()
  }
})

it('carries a delivery, its tenant and its bytes from a receiver to the handlers', async () => {
  const texts: string[] = []
  const body = payloadOf('FeaturesCreated')
  const receiver = createReceiver({
    signatureKey: () => ({ keys: KEY, tenant: 'Gemeinde Köniz' }),
    inbox: { put: async (delivery) => texts.push(packDelivery(delivery)) },
  })
  const handled: unknown[] = []
  receiver.on('FeaturesCreated', ({ changeType }, { rawBody, tenant, keyIndex }, { attempt }) => {
    handled.push([changeType, new TextDecoder().decode(rawBody), tenant, keyIndex, attempt])
  })
  expect((await deliver(receiver, body)).status).toBe(202)
  const context = { attempt: 3, signal: AbortSignal.timeout(60_000) }
  expect(await receiver.handle(unpackDelivery(texts[0] ?? ''), context)).toBe('handled')
  expect(handled).toEqual([['FeaturesCreated', body, 'Gemeinde Köniz', 0, 3]])
})

it('with duplicates, a repeated delivery gets 200, and one that the queue refused gets 202 later', async () => {
  let isUp = false
  const put = vi.fn(async () => {
    if (!isUp) throw new Error('the queue is down')
  })
  const duplicates = createMemoryDuplicates()
  const receiver = createReceiver({
    signatureKey: KEY,
    inbox: { put },
    duplicates,
    observer: { failed() {} },
  })
  const statusOf = async () => (await deliver(receiver, payloadOf('FeaturesCreated'))).status
  expect(await statusOf()).toBe(503)
  isUp = true
  expect([await statusOf(), await statusOf()]).toEqual([202, 200])
  expect(put).toHaveBeenCalledTimes(2)
  await duplicates.close()
})
