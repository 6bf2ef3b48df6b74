import { createReceiver, type ReceiverOptions, WebhookError } from 'geohook'
import { describe, expect, it } from 'vitest'
import { deliver, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { warningsOf } from '../helpers/warnings.ts'

const codeOf = (run: () => unknown): string | undefined => {
  try {
    run()
    return undefined
  } catch (error) {
    return error instanceof WebhookError ? error.code : String(error)
  }
}

describe('an option that cannot be right is thrown at construction', () => {
  it.each<[string, object]>([
    ['no key', {}],
    ['an empty key', { signatureKey: '' }],
    ['a blank key', { signatureKey: ' \n' }],
    ['a key with a line end, as files have it', { signatureKey: 'abc\n' }],
    ['a key with a space before it', { signatureKey: ' abc' }],
    ['such a key in a ring', { signatureKey: ['abc', 'def '] }],
    ['an empty ring', { signatureKey: [] }],
    ['null', { signatureKey: null }],
    ['an object', { signatureKey: { key: 'abc' } }],
    ['no bytes', { signatureKey: new Uint8Array() }],
    ['a header name with a space', { signatureKey: KEY, signatureHeader: 'x service' }],
    ['an empty header name', { signatureKey: KEY, signatureHeader: '' }],
    ['an unknown encoding', { signatureKey: KEY, encoding: 'base64url' }],
    ['a limit of zero', { signatureKey: KEY, limit: 0 }],
    ['a negative limit', { signatureKey: KEY, limit: -1 }],
    ['a limit that is no size', { signatureKey: KEY, limit: '1 potato' }],
    ['a limit without digits', { signatureKey: KEY, limit: 'mb' }],
    ['a limit with junk behind it', { signatureKey: KEY, limit: '10mbx' }],
    ['an endless limit', { signatureKey: KEY, limit: Number.POSITIVE_INFINITY }],
    ['a time-out of zero', { signatureKey: KEY, bodyTimeout: 0 }],
    ['a time-out beyond timers', { signatureKey: KEY, bodyTimeout: 2 ** 31 }],
    ['a time-out as text', { signatureKey: KEY, bodyTimeout: '10s' }],
    ['an untimed that is none', { signatureKey: KEY, untimed: 'maybe' }],
    ['a maxAge that is none', { signatureKey: KEY, maxAge: Number.NaN }],
    ['unsigned as a boolean', { signatureKey: KEY, unsigned: true }],
    ['a ring with a hole', { signatureKey: Object.assign(['a', 'b', 'c'], { length: 4 }) }],
    ['an inbox that cannot store', { signatureKey: KEY, inbox: {} }],
    ['duplicates as a boolean', { signatureKey: KEY, duplicates: true }],
    [
      'a store of duplicates that cannot release',
      { signatureKey: KEY, duplicates: { claim() {}, done() {} } },
    ],
    ['a schema that is none', { signatureKey: KEY, schema: { parse() {} } }],
    ['a clock that does not run', { signatureKey: KEY, clock: 5 }],
    ['a profile by its name', { signatureKey: KEY, profile: 'arcgis' }],
    ['nothing at all', undefined as unknown as object],
    ['null in place of options', null as unknown as object],
  ])('%s', (_, options) => {
    expect(codeOf(() => createReceiver(options as ReceiverOptions))).toBe('config_invalid')
  })

  it.each<[string, unknown, unknown]>([
    ['no change type', [], () => {}],
    ['an empty change type', '', () => {}],
    ['a change type that is no text', [7], () => {}],
    ['no function', 'FeaturesCreated', undefined],
  ])('on() with %s', (_, changeTypes, handler) => {
    const receiver = createReceiver({ signatureKey: KEY })
    expect(codeOf(() => receiver.on(changeTypes as string, handler as () => void))).toBe('config_invalid')
  })

  it('names the key in no error', () => {
    try {
      createReceiver({ signatureKey: 'topsecret ' })
      expect.unreachable()
    } catch (error) {
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
  it('rotate: every key of the ring is good, and the delivery says which one it was', async () => {
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

  it('that come and go leave the id of a signed delivery as it is, so that a captured one stays a duplicate', async () => {
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

  it('may be swapped while the receiver runs', async () => {
    let current = 'first'
    const receiver = createReceiver({ signatureKey: () => current, observer: {} })
    const body = payloadOf('A')
    expect((await deliver(receiver, body, { 'x-service': signatureOf(body, 'first') })).status).toBe(200)
    current = 'second'
    expect((await deliver(receiver, body, { 'x-service': signatureOf(body, 'first') })).status).toBe(401)
    expect((await deliver(receiver, body, { 'x-service': signatureOf(body, 'second') })).status).toBe(200)
  })

  it.each<[string, () => unknown, number, string]>([
    ['nothing', () => undefined, 401, 'key_unknown'],
    ['null, later', async () => null, 401, 'key_unknown'],
    ['an empty list', () => [], 401, 'key_unknown'],
    ['an empty text', () => '', 401, 'key_unknown'],
    ['a blank key', () => '  ', 401, 'key_unknown'],
    ['a key with a line end', () => `${KEY}\n`, 401, 'key_unknown'],
    ['something that is no key', () => 7, 401, 'key_unknown'],
    ['a list with a hole', () => Object.assign([KEY], { length: 2 }), 401, 'key_unknown'],
    ['a list of nothing', () => new Array(3), 401, 'key_unknown'],
    ['zero bytes', () => new Uint8Array(32), 401, 'key_unknown'],
    ['a zero byte as text', () => '\0', 401, 'key_unknown'],
    ['more than 100 keys', () => new Array(101).fill(KEY), 401, 'key_unknown'],
    ['a list that is longer than memory', () => new Array(2 ** 32 - 1), 401, 'key_unknown'],
    ['an error of ours', () => Promise.reject(new WebhookError('config_invalid')), 503, 'key_unavailable'],
    [
      'an error',
      () => {
        throw new Error('database gone')
      },
      503,
      'key_unavailable',
    ],
    ['a rejection', () => Promise.reject(new Error('database gone')), 503, 'key_unavailable'],
  ])('from a function that gives %s are refused, never accepted', async (_, signatureKey, status, code) => {
    const codes: string[] = []
    const observer = { refused: ({ error }: { error: WebhookError }) => codes.push(error.code) }
    const receiver = createReceiver({ signatureKey: signatureKey as () => string, observer })
    const answer = await deliver(receiver, payloadOf('A'))
    expect(answer.status).toBe(status)
    expect(codes).toEqual([code])
    if (status === 401) expect(answer.body.code).toBe('unauthorized')
    if (status === 503) expect(answer.headers.get('retry-after')).toBe('5')
  })

  it('that cannot be right are not told from missing ones by what is read before the answer', async () => {
    for (const signatureKey of [() => null, () => ' k', () => 'k']) {
      let read = false
      const receiver = createReceiver({ signatureKey, observer: {} })
      const outcome = await receiver.receive({
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
    let asked = 0
    const receiver = createReceiver({
      signatureKey: () => {
        asked++
        return KEY
      },
      observer: {},
    })
    await deliver(receiver, payloadOf('A'), { 'x-service': '' })
    await deliver(receiver, payloadOf('A'), { 'x-service': 'oops' })
    expect(asked).toBe(0)
  })
})

describe("unsigned: 'accept'", () => {
  const unsigned = { 'x-service': '' }

  it('takes deliveries without a signature, and gives them a stable id and no keyIndex', async () => {
    const seen: { id: string; keyIndex?: number }[] = []
    const receiver = createReceiver({ unsigned: 'accept' }).on('*', (_, delivery) => seen.push(delivery))
    for (const body of ['{"a":1}', '{"a":1}', '{"a":2}'])
      expect((await deliver(receiver, body, unsigned)).status).toBe(200)
    expect(
      (await deliver(receiver, 'a=1', { ...unsigned, 'content-type': 'application/x-www-form-urlencoded' }))
        .status,
    ).toBe(200)
    expect(seen.map((delivery) => 'keyIndex' in delivery)).toEqual([false, false, false, false])
    expect(seen[0]?.id).toBe(seen[1]?.id)
    expect(seen[0]?.id).not.toBe(seen[2]?.id)
  })

  it('still refuses a signature that is wrong or cannot be checked', async () => {
    const withKey = createReceiver({ signatureKey: KEY, unsigned: 'accept', observer: {} })
    expect((await deliver(withKey, '{}', { 'x-service': '0'.repeat(64) })).status).toBe(401)
    expect((await deliver(withKey, '{}', { 'x-service': 'oops' })).status).toBe(401)
    expect((await deliver(withKey, '{}')).status).toBe(200)
    expect((await deliver(createReceiver({ unsigned: 'accept', observer: {} }), '{}')).status).toBe(401)
  })

  it('is said aloud once, at the start', async () => {
    const lines = await warningsOf(async () => {
      const receiver = createReceiver({ unsigned: 'accept' })
      await deliver(receiver, '{}', unsigned)
      await deliver(receiver, '{}', unsigned)
    })
    expect(lines).toEqual([expect.stringMatching(/^unsigned_accepted: .*anyone/)])
  })
})
