import { createReceiver, type ReceiverOptions, WebhookError } from 'geohook'
import { describe, expect, it } from 'vitest'
import { deliver, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { receiverPort } from '../helpers/receiver-port.ts'
import { warningsOf } from '../helpers/warnings.ts'

const codeOf = (run: () => unknown): string | undefined => {
  try {
    run()
    return undefined
  } catch (error) {
    return error instanceof WebhookError ? error.code : String(error)
  }
}

describe('throws config_invalid for', () => {
  it.each<[string, object]>([
    ['no key', {}],
    ['an empty key', { signatureKey: '' }],
    ['a blank key', { signatureKey: ' \n' }],
    ['a key with a trailing line feed, as from a file', { signatureKey: 'abc\n' }],
    ['a key with a leading space', { signatureKey: ' abc' }],
    ['a key with a trailing space in a ring', { signatureKey: ['abc', 'def '] }],
    ['an empty ring', { signatureKey: [] }],
    ['null as key', { signatureKey: null }],
    ['an object as key', { signatureKey: { key: 'abc' } }],
    ['a key without bytes', { signatureKey: new Uint8Array() }],
    ['a header name with a space', { signatureKey: KEY, signatureHeader: 'x service' }],
    ['an empty header name', { signatureKey: KEY, signatureHeader: '' }],
    ['an unknown encoding', { signatureKey: KEY, encoding: 'base64url' }],
    ['a limit of zero', { signatureKey: KEY, limit: 0 }],
    ['a negative limit', { signatureKey: KEY, limit: -1 }],
    ['a limit that is not a size', { signatureKey: KEY, limit: '1 potato' }],
    ['a limit without digits', { signatureKey: KEY, limit: 'mb' }],
    ['a limit with trailing junk', { signatureKey: KEY, limit: '10mbx' }],
    ['an infinite limit', { signatureKey: KEY, limit: Number.POSITIVE_INFINITY }],
    ['a timeout of zero', { signatureKey: KEY, bodyTimeout: 0 }],
    ['a timeout beyond the range of timers', { signatureKey: KEY, bodyTimeout: 2 ** 31 }],
    ['a timeout as text', { signatureKey: KEY, bodyTimeout: '10s' }],
    ['an unknown value of untimed', { signatureKey: KEY, untimed: 'maybe' }],
    ['a maxAge that is not a number', { signatureKey: KEY, maxAge: Number.NaN }],
    ['unsigned as a boolean', { signatureKey: KEY, unsigned: true }],
    ['a ring with a hole', { signatureKey: Object.assign(['a', 'b', 'c'], { length: 4 }) }],
    ['an inbox without put', { signatureKey: KEY, inbox: {} }],
    ['duplicates as a boolean', { signatureKey: KEY, duplicates: true }],
    ['a duplicate store without release', { signatureKey: KEY, duplicates: { claim() {}, done() {} } }],
    ['a schema that is not a Standard Schema', { signatureKey: KEY, schema: { parse() {} } }],
    ['a clock that is not a function', { signatureKey: KEY, clock: 5 }],
    ['an unknown profile', { signatureKey: KEY, profile: 'esri' }],
    ...[
      'profile',
      'signatureHeader',
      'encoding',
      'limit',
      'maxInFlightBytes',
      'bodyTimeout',
      'clock',
      'inbox',
    ].map((name): [string, object] => [`null as ${name}`, { signatureKey: KEY, [name]: null }]),
    ['missing options', undefined as unknown as object],
    ['null as options', null as unknown as object],
  ])('%s', (_, options) => {
    expect(codeOf(() => createReceiver(options as ReceiverOptions))).toBe('config_invalid')
  })

  it.each<[string, unknown, unknown]>([
    ['no change type', [], () => {}],
    ['an empty change type', '', () => {}],
    ['a list with a hole', new Array(1), () => {}],
    ['a change type that is not a string', [7], () => {}],
    ['a missing handler', 'FeaturesCreated', undefined],
  ])('on() with %s', (_, changeTypes, handler) => {
    const receiver = createReceiver({ signatureKey: KEY })
    expect(codeOf(() => receiver.on(changeTypes as string, handler as () => void))).toBe('config_invalid')
  })

  it('never repeats the key in an error', () => {
    try {
      createReceiver({ signatureKey: 'topsecret ' })
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({
        message: expect.stringContaining('signatureKey has white space around it'),
      })
      expect(JSON.stringify(error) + String(error) + (error as Error).stack).not.toContain('topsecret')
    }
  })
})

it.each<[number | string, number]>([
  [100, 100],
  ['100b', 100],
  ['1kb', 1024],
  ['1 KB', 1024],
])('a limit of %j is %i bytes', async (limit, bytes) => {
  const receiver = createReceiver({ signatureKey: KEY, limit, observer: {} })
  const exact = `["${'x'.repeat(bytes - 4)}"]`
  expect((await deliver(receiver, exact)).status).toBe(200)
  expect((await deliver(receiver, `${exact} `)).status).toBe(413)
})

it('the default limit is 1 MiB', async () => {
  const receiver = createReceiver({ signatureKey: KEY })
  const exact = `["${'x'.repeat(2 ** 20 - 4)}"]`
  expect((await deliver(receiver, exact)).status).toBe(200)
  expect((await deliver(receiver, `${exact} `)).status).toBe(413)
})

describe('keys', () => {
  it('can be rotated: accepts every key of the ring, and sets keyIndex', async () => {
    const indexes: (number | undefined)[] = []
    const receiver = createReceiver({ signatureKey: ['new', 'old'] }).on('*', (_, delivery) =>
      indexes.push(delivery.keyIndex),
    )
    const body = payloadOf('A')
    for (const key of ['new', 'old']) {
      expect((await deliver(receiver, body, { 'x-service': signatureOf(body, key) })).status).toBe(200)
    }
    expect((await deliver(receiver, body, { 'x-service': signatureOf(body, 'older') })).status).toBe(401)
    expect(indexes).toEqual([0, 1])
  })

  it('can be added or removed without changing the id of a delivery, so that a replayed one stays a duplicate', async () => {
    const ids: string[] = []
    const body = payloadOf('A')
    const idUnder = async (signatureKey: string[], key: string) => {
      const receiver = createReceiver({ signatureKey }).on('*', (_, delivery) => ids.push(delivery.id))
      expect((await deliver(receiver, body, { 'x-service': signatureOf(body, key) })).status).toBe(200)
    }
    for (const ring of [['old'], ['new', 'old'], ['newest', 'new', 'old']]) await idUnder(ring, 'old')
    for (const ring of [['new', 'old'], ['new'], ['newest', 'new']]) await idUnder(ring, 'new')
    expect(new Set(ids.slice(0, 3)).size).toBe(1)
    expect(new Set(ids.slice(3)).size).toBe(1)
    expect(ids[0]).not.toBe(ids[3])
    expect(ids.join()).not.toContain(signatureOf(body, 'old').slice(0, 8))
  })

  it('can be replaced while the receiver runs', async () => {
    let current = 'first'
    const receiver = createReceiver({ signatureKey: () => current, observer: {} })
    const body = payloadOf('A')
    expect((await deliver(receiver, body, { 'x-service': signatureOf(body, 'first') })).status).toBe(200)
    current = 'second'
    expect((await deliver(receiver, body, { 'x-service': signatureOf(body, 'first') })).status).toBe(401)
    expect((await deliver(receiver, body, { 'x-service': signatureOf(body, 'second') })).status).toBe(200)
  })

  it.each<[string, () => unknown, number, string]>([
    ['undefined', () => undefined, 401, 'key_unknown'],
    ['null, later', async () => null, 401, 'key_unknown'],
    ['an empty list', () => [], 401, 'key_unknown'],
    ['an empty text', () => '', 401, 'key_unknown'],
    ['a blank key', () => '  ', 401, 'key_unknown'],
    ['a key with a trailing line feed', () => `${KEY}\n`, 401, 'key_unknown'],
    ['a value that is not a key', () => 7, 401, 'key_unknown'],
    ['a list with a hole', () => Object.assign([KEY], { length: 2 }), 401, 'key_unknown'],
    ['a list of holes', () => new Array(3), 401, 'key_unknown'],
    ['zero bytes', () => new Uint8Array(32), 401, 'key_unknown'],
    ['a zero byte as text', () => '\0', 401, 'key_unknown'],
    ['more than 100 keys', () => new Array(101).fill(KEY), 401, 'key_unknown'],
    ['a list that is longer than memory', () => new Array(2 ** 32 - 1), 401, 'key_unknown'],
    ['a WebhookError', () => Promise.reject(new WebhookError('config_invalid')), 503, 'key_unavailable'],
    [
      'an error',
      () => {
        throw new Error('database gone')
      },
      503,
      'key_unavailable',
    ],
    ['a rejection', () => Promise.reject(new Error('database gone')), 503, 'key_unavailable'],
  ])('from a function that returns %s are never accepted', async (_, signatureKey, status, code) => {
    const codes: string[] = []
    const observer = { refused: ({ error }: { error: WebhookError }) => codes.push(error.code) }
    const receiver = createReceiver({ signatureKey: signatureKey as () => string, observer })
    const answer = await deliver(receiver, payloadOf('A'))
    expect(answer.status).toBe(status)
    expect(codes).toEqual([code])
    if (status === 401) expect(answer.body.code).toBe('unauthorized')
    if (status === 503) expect(answer.headers.get('retry-after')).toBe('5')
  })

  it('are indistinguishable if invalid, missing or wrong: the body is read in each case', async () => {
    for (const signatureKey of [() => null, () => ' k', () => 'k']) {
      let read = false
      const receiver = createReceiver({ signatureKey, observer: {} })
      const outcome = await receiverPort(receiver).receive({
        method: 'POST',
        url: '/',
        headers: { 'content-type': 'application/json', 'x-service': '0'.repeat(64) },
        async read() {
          read = true
          return new Uint8Array()
        },
      })
      expect([outcome.status, read]).toEqual([401, true])
    }
  })

  it('are not looked up for a request without a readable signature', async () => {
    let lookups = 0
    const receiver = createReceiver({
      signatureKey: () => {
        lookups++
        return KEY
      },
      observer: {},
    })
    await deliver(receiver, payloadOf('A'), { 'x-service': '' })
    await deliver(receiver, payloadOf('A'), { 'x-service': 'oops' })
    expect(lookups).toBe(0)
  })
})

describe("unsigned: 'accept'", () => {
  const unsigned = { 'x-service': '' }

  it('accepts deliveries without a signature, with a stable id and without keyIndex', async () => {
    const deliveries: { id: string; keyIndex?: number }[] = []
    const receiver = createReceiver({ unsigned: 'accept' }).on('*', (_, delivery) =>
      deliveries.push(delivery),
    )
    for (const body of ['{"a":1}', '{"a":1}', '{"a":2}'])
      expect((await deliver(receiver, body, unsigned)).status).toBe(200)
    expect(
      (await deliver(receiver, 'a=1', { ...unsigned, 'content-type': 'application/x-www-form-urlencoded' }))
        .status,
    ).toBe(200)
    expect(deliveries.map((delivery) => 'keyIndex' in delivery)).toEqual([false, false, false, false])
    expect(deliveries[0]?.id).toBe(deliveries[1]?.id)
    expect(deliveries[0]?.id).not.toBe(deliveries[2]?.id)
  })

  it('still rejects a signature that is wrong or cannot be verified', async () => {
    const withKey = createReceiver({ signatureKey: KEY, unsigned: 'accept', observer: {} })
    expect((await deliver(withKey, '{}', { 'x-service': '0'.repeat(64) })).status).toBe(401)
    expect((await deliver(withKey, '{}', { 'x-service': 'oops' })).status).toBe(401)
    expect((await deliver(withKey, '{}')).status).toBe(200)
    expect((await deliver(createReceiver({ unsigned: 'accept', observer: {} }), '{}')).status).toBe(401)
  })

  it('emits one warning at the start', async () => {
    const lines = await warningsOf(async () => {
      const receiver = createReceiver({ unsigned: 'accept' }).on('*', () => {})
      await deliver(receiver, '{}', unsigned)
      await deliver(receiver, '{}', unsigned)
    })
    expect(lines).toEqual([expect.stringMatching(/^unsigned_accepted: .*anyone/)])
  })
})
