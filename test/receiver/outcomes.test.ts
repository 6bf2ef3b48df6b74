import { arcgis, createReceiver, type Delivery, type DuplicateStore, type StandardSchema } from 'geohook'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { base64Of, deliver, FORM_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'

describe('maxAge', () => {
  const when = 1730385704000
  const body = (...times: (number | undefined)[]) =>
    JSON.stringify({ events: times.map((time) => ({ eventType: 'A', when: time })) })

  it.each<[string, number, string, number]>([
    ['now', when, body(when), 200],
    ['just old enough', when + 5000, body(when), 200],
    ['too old', when + 5001, body(when), 400],
    ['just new enough', when - 5000, body(when), 200],
    ['too new', when - 5001, body(when), 400],
    ['old, but sent together with a new one', when + 60_000, body(when, when + 59_000), 200],
    ['without a time', when, body(undefined), 400],
    ['without events', when, '{}', 400],
    ['one of very many', when, `{"when":${when},"events":[${'0,'.repeat(200_000)}0]}`, 200],
  ])('checks an event that is %s', async (_, now, payload, status) => {
    const { observer } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, maxAge: 5000, clock: () => now, observer })
    const answer = await deliver(receiver, payload)
    expect(answer.status).toBe(status)
    if (status === 400) expect(answer.body.code).toBe('delivery_stale')
  })

  it('rejects every delivery if the clock returns NaN', async () => {
    const { observer } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, maxAge: 5000, clock: () => Number.NaN, observer })
    expect((await deliver(receiver, body(when))).body.code).toBe('delivery_stale')
  })

  it.each([
    ['a payload without a time', body(undefined), 200],
    ['a payload without events', '{}', 200],
    ['an old payload', body(when - 5001), 400],
    ['an old event next to one without a time', body(undefined, when - 5001), 400],
  ])("untimed: 'accept', and %s", async (_, payload, status) => {
    const { observer } = createRecorder()
    const options = {
      signatureKey: KEY,
      maxAge: 5000,
      untimed: 'accept',
      clock: () => when,
      observer,
    } as const
    expect((await deliver(createReceiver(options), payload)).status).toBe(status)
  })

  it('is not checked by default', async () => {
    expect((await deliver(createReceiver({ signatureKey: KEY }), body(0))).status).toBe(200)
  })
})

describe('schema', () => {
  const schema = z.object({ serviceName: z.string().transform((name) => name.toUpperCase()) })

  it('passes its output to handlers, with its type', async () => {
    const names: string[] = []
    const receiver = createReceiver({ signatureKey: KEY, schema }).on('*', (_, { payload }) =>
      names.push(payload.serviceName),
    )
    expect((await deliver(receiver, payloadOf('A'))).status).toBe(200)
    expect(names).toEqual(['PARCELS'])
  })

  it('rejects an invalid payload, and gives the observer the reason', async () => {
    const { observer, calls } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, schema, observer })
    const answer = await deliver(receiver, '{"serviceName":7}')
    expect([answer.status, answer.body]).toEqual([
      400,
      { title: 'Payload invalid', status: 400, code: 'payload_invalid' },
    ])
    expect(calls[0]?.error?.message).toContain('expected string')
  })
})

it('returns 500 if the schema throws', async () => {
  const { observer, calls } = createRecorder()
  const schema: StandardSchema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate() {
        throw new Error('no database')
      },
    },
  }
  const answer = await deliver(createReceiver({ signatureKey: KEY, schema, observer }), '{}')
  expect([answer.status, calls[0]?.error?.message]).toEqual([500, 'the schema threw an error'])
})

it('responds with the status of an error that another copy of geohook has thrown', async () => {
  const { observer } = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer })
  const error = Object.assign(new Error('gone'), {
    name: 'WebhookError',
    code: 'body_aborted',
    status: 400,
  })
  const outcome = await receiverPort(receiver).receive({
    method: 'POST',
    url: '/hook',
    headers: { 'x-service': signatureOf('{}') },
    read: () => Promise.reject(error),
  })
  expect([outcome.status, outcome.error]).toEqual([400, error])
})

it.each([undefined, null, 'gone'])('responds with 500 if an adapter throws %j', async (thrown) => {
  const { observer } = createRecorder()
  const outcome = await receiverPort(createReceiver({ signatureKey: KEY, observer })).receive({
    method: 'POST',
    url: '/hook',
    headers: { 'x-service': signatureOf('{}') },
    read: () => Promise.reject(thrown),
  })
  expect([outcome.status, outcome.error?.code, outcome.error?.cause]).toEqual([500, 'handler_failed', thrown])
})

it.each([
  ['not if its body was read', signatureOf('{}'), 0],
  ['if its body was not read', 'oops', 1],
])('cancels a request: %s', async (_, signature, count) => {
  const { observer } = createRecorder()
  let cancelled = 0
  await receiverPort(createReceiver({ signatureKey: KEY, observer })).receive({
    method: 'POST',
    url: '/hook',
    headers: { 'content-type': 'application/json', 'x-service': signature },
    read: () => Buffer.from('{}'),
    cancel: () => void cancelled++,
  })
  expect(cancelled).toBe(count)
})

it('counts a request as in flight until its response is written', async () => {
  const { observer } = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer })
  const writing = createGate()
  const written = createGate()
  const request = { method: 'GET', url: '/hook', headers: {}, read: () => expect.unreachable() }
  const received = receiverPort(receiver).receive(request, () => {
    writing.release()
    return written.gate
  })
  await writing.gate
  for (let step = 0; step < 20; step++) await undefined
  expect((await receiver.stats()).inFlight).toBe(1)
  written.release()
  await received
  expect((await receiver.stats()).inFlight).toBe(0)
})

describe('a duplicate store', () => {
  function createStore(): DuplicateStore & { states: Map<string, string> } {
    const states = new Map<string, string>()
    return {
      states,
      async claim(id) {
        const state = states.get(id)
        if (state) return state as 'busy' | 'done'
        states.set(id, 'busy')
        return 'claimed'
      },
      done: async (id) => void states.set(id, 'done'),
      release: async (id) => void states.delete(id),
    }
  }

  it('runs a delivery once, and returns 200 for its duplicate', async () => {
    const { observer, calls } = createRecorder()
    let runs = 0
    const receiver = createReceiver({ signatureKey: KEY, duplicates: createStore(), observer }).on(
      '*',
      () => ++runs,
    )
    expect((await deliver(receiver, payloadOf('A'))).body).toEqual({ status: 'handled' })
    const again = await deliver(receiver, payloadOf('A'))
    expect([again.status, again.body, runs]).toEqual([200, { status: 'duplicate' }, 1])
    expect((await deliver(receiver, payloadOf('B'))).body).toEqual({ status: 'handled' })
    expect(calls.map(({ name }) => name)).toEqual([
      'accepted',
      'handled',
      'accepted',
      'duplicate',
      'accepted',
      'handled',
    ])
  })

  it('returns 409 while the first attempt is in progress', async () => {
    const { gate, release } = createGate()
    const recorder = createRecorder()
    const receiver = createReceiver({
      signatureKey: KEY,
      duplicates: createStore(),
      observer: recorder.observer,
    }).on('*', () => gate)
    const first = deliver(receiver, payloadOf('A'))
    await recorder.waitFor('accepted')
    const second = await deliver(receiver, payloadOf('A'))
    expect([second.status, second.body.code, second.headers.get('retry-after')]).toEqual([
      409,
      'delivery_in_progress',
      '5',
    ])
    release()
    expect((await first).status).toBe(200)
  })

  it('runs the retry after a failure', async () => {
    let fail = true
    const receiver = createReceiver({ signatureKey: KEY, duplicates: createStore(), observer: {} }).on(
      '*',
      () => {
        if (fail) throw new Error('x')
      },
    )
    expect((await deliver(receiver, payloadOf('A'))).status).toBe(500)
    fail = false
    expect((await deliver(receiver, payloadOf('A'))).body).toEqual({ status: 'handled' })
  })

  it('causes 503 if it fails before the handlers, but changes nothing if it fails afterwards', async () => {
    const gone = () => Promise.reject(new Error('gone'))
    const unreachable = createReceiver({
      signatureKey: KEY,
      duplicates: { ...createStore(), claim: gone },
      observer: {},
    })
    expect((await deliver(unreachable, payloadOf('A'))).body.code).toBe('inbox_unavailable')
    const failingDone = createReceiver({
      signatureKey: KEY,
      duplicates: { ...createStore(), done: gone },
      observer: {},
    })
    expect((await deliver(failingDone, payloadOf('A'))).status).toBe(200)
    const failingRelease = createReceiver({
      signatureKey: KEY,
      duplicates: { ...createStore(), release: gone },
      observer: {},
    })
    failingRelease.on('*', () => {
      throw new Error('x')
    })
    expect((await deliver(failingRelease, payloadOf('A'))).body.code).toBe('handler_failed')
  })
})

describe('stores that return synchronously or throw', () => {
  const fail = () => {
    throw new Error('gone')
  }
  const nothing = () => undefined as unknown as Promise<void>
  const claimed = () => 'claimed' as unknown as Promise<'claimed'>
  const store: DuplicateStore = { claim: claimed, done: nothing, release: nothing }
  const codeWith = async (options: object, handler: () => unknown = () => {}) => {
    const { observer, calls } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, observer, ...options }).on('*', handler)
    const { status } = await deliver(receiver, payloadOf('A'))
    return [status, calls.at(-1)?.code]
  }

  it('do not turn success into failure, and do not hide the first error', async () => {
    expect(await codeWith({ duplicates: store })).toEqual([200, undefined])
    expect(await codeWith({ duplicates: { ...store, done: fail } })).toEqual([200, undefined])
    expect(await codeWith({ duplicates: { ...store, release: fail } }, fail)).toEqual([500, 'handler_failed'])
    expect(await codeWith({ duplicates: { ...store, claim: fail } })).toEqual([503, 'inbox_unavailable'])
    expect(await codeWith({ duplicates: { ...store, claim: nothing } })).toEqual([503, 'inbox_unavailable'])
    expect(await codeWith({ inbox: { put: nothing } })).toEqual([202, undefined])
    expect(await codeWith({ inbox: { put: fail } })).toEqual([503, 'inbox_unavailable'])
  })

  it('cannot make a verified delivery look unverified', async () => {
    const { WebhookError } = await import('geohook')
    const put = () => Promise.reject(new WebhookError('signature_mismatch'))
    expect(await codeWith({ inbox: { put } })).toEqual([503, 'inbox_unavailable'])
  })
})

describe('an inbox', () => {
  it('has the delivery before 202 is sent, and handlers do not run', async () => {
    const stored: Delivery[] = []
    const receiver = createReceiver({
      signatureKey: KEY,
      inbox: { put: async (delivery) => void stored.push(delivery) },
    })
    receiver.on('*', () => expect.unreachable())
    const answer = await deliver(receiver, payloadOf('A'))
    expect([answer.status, answer.body, stored.length]).toEqual([202, { status: 'stored' }, 1])
  })

  it('causes 503 if it fails', async () => {
    const { observer, calls } = createRecorder()
    const receiver = createReceiver({
      signatureKey: KEY,
      observer,
      inbox: { put: () => Promise.reject(new Error('full')) },
    })
    const answer = await deliver(receiver, payloadOf('A'))
    expect([answer.status, answer.body.code, answer.headers.get('retry-after')]).toEqual([
      503,
      'inbox_unavailable',
      '5',
    ])
    expect(calls.at(-1)?.error?.cause).toEqual(new Error('full'))
  })
})

describe('the signature in a form field', () => {
  const json = '{"serviceName":"P & Q = R","events":[{"eventType":"FeaturesCreated"}]}'
  const encoded = encodeURIComponent(json)
  const form = { 'content-type': FORM_TYPE, 'x-service': '' }
  const receiver = createReceiver({ signatureKey: KEY, profile: arcgis, observer: {} })
  const field = (payload: string, signature = `sha256=${base64Of(payload)}`) =>
    `payload=${payload}&x-esriHook-Signature=${encodeURIComponent(signature).replace(/%../g, (code) => code.toLowerCase())}`

  it.each<[string, string]>([
    ['percent-encoded JSON', field(encoded)],
    ['JSON without encoding', field(json)],
    [
      'a signature that is not percent-encoded',
      `payload=${json}&x-esriHook-Signature=sha256=${base64Of(json)}`,
    ],
    ['another case of the name, hex', `payload=${json}&X-ESRIHOOK-SIGNATURE=${signatureOf(json)}`],
  ])('covers the payload as received: %s', async (_, body) => {
    const payloads: unknown[] = []
    const collecting = createReceiver({ signatureKey: KEY, profile: arcgis }).on('*', (_event, { payload }) =>
      payloads.push(payload),
    )
    expect((await deliver(collecting, body, form)).status).toBe(200)
    expect(payloads).toEqual([JSON.parse(json)])
  })

  it.each<[string, string]>([
    ['an altered payload', field(encoded).replace('Parcels', 'parcels').replace('%22', '%27')],
    ['a signature over the decoded payload', field(encoded, `sha256=${base64Of(json)}`)],
    ['a wrong signature', field(json, '0'.repeat(64))],
    ['no signature', `payload=${json}`],
    ['an empty signature', `payload=${json}&x-esriHook-Signature=`],
    ['a malformed signature', `payload=${json}&x-esriHook-Signature=oops`],
    ['a signature that is not at the end', `payload=${json}&x-esriHook-Signature=${signatureOf(json)}&a=b`],
    ['a field before the payload', `a=b&${field(json)}`],
    ['only the signature', `x-esriHook-Signature=${signatureOf('')}`],
    ['a tail of 100 kB', `payload=${json}&x-esriHook-Signature=${'a'.repeat(100_000)}`],
  ])('is rejected: %s', async (_, body) => {
    expect((await deliver(receiver, body, form)).status).toBe(401)
  })

  it('is read only without a header, and only in a form', async () => {
    const header = { 'content-type': FORM_TYPE, 'x-esriHook-Signature': '0'.repeat(64) }
    expect((await deliver(receiver, field(json), header)).status).toBe(401)
    expect((await deliver(receiver, field(json), { 'x-service': '' })).status).toBe(401)
  })

  it('does not allow replaying a JSON delivery as a form with other fields', async () => {
    const body = '{"note":"x&changeTypes=FeaturesDeleted&y=1","events":[]}'
    const replay = createReceiver({ signatureKey: KEY, observer: {} }).on('FeaturesDeleted', () =>
      expect.unreachable(),
    )
    expect((await deliver(replay, body, { 'content-type': FORM_TYPE })).body.code).toBe('payload_malformed')
  })
})

describe('the handshake of arcgis', () => {
  const { observer, calls } = createRecorder()
  const receiver = createReceiver({ signatureKey: ['new', 'old'], profile: arcgis, observer })
  const get = async (query: string) => {
    const response = await receiver.fetch(new Request(`http://a.example/hook${query}`))
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }

  it('is signed with the newest key', async () => {
    const { status, body } = await get('?crc_token=abc123')
    expect([status, body.response_token]).toEqual([200, `sha256=${base64Of('abc123', 'new')}`])
    expect((await get('?crc_token=a%2Bb%2Fc%3D%3D')).body.response_token).toBe(
      `sha256=${base64Of('a+b/c==', 'new')}`,
    )
    expect((await get('?crc_token=a+b/c==')).body.response_token).toBe(`sha256=${base64Of('a+b/c==', 'new')}`)
  })

  it.each([
    ['no token', ''],
    ['an empty token', '?crc_token='],
    ['two tokens', '?crc_token=a&crc_token=b'],
    ['a token that is too long', `?crc_token=${'a'.repeat(600)}`],
    ['bad percent-encoding', '?crc_token=%zz'],
    ['a token that is JSON', `?crc_token=${encodeURIComponent('{"events":["FeaturesDeleted"]}')}`],
    ['a token that is a JSON array', '?crc_token=[]'],
    ['a token that is a form', `?crc_token=${encodeURIComponent('changeTypes=FeaturesDeleted')}`],
    ['a token that is an encoded payload', `?crc_token=${encodeURIComponent('%7B%7D')}`],
    ['a token with a line feed', '?crc_token=a%0A'],
    ['a token beyond ASCII', '?crc_token=%C3%A9'],
  ])('is rejected: %s', async (_, query) => {
    const { status, body } = await get(query)
    expect([status, body.code]).toEqual([400, 'handshake_invalid'])
  })

  it('cannot be used to sign deliveries', async () => {
    for (const token of ['123', 'true', 'null', 'abc', 'abc=', 'changeType=', 'a:b']) {
      const signature = (await get(`?crc_token=${encodeURIComponent(token)}`)).body.response_token ?? ''
      expect(signature).toMatch(/^sha256=/)
      for (const type of ['application/json', FORM_TYPE]) {
        const answer = await deliver(receiver, token, {
          'content-type': type,
          'x-esriHook-Signature': signature,
        })
        expect([answer.status, answer.body.code]).toEqual([400, 'payload_malformed'])
      }
      const asField = await deliver(
        receiver,
        `payload=${token}&x-esriHook-Signature=${encodeURIComponent(signature)}`,
        {
          'content-type': FORM_TYPE,
          'x-service': '',
        },
      )
      expect(asField.status).toBe(400)
    }
    expect(calls.filter(({ name }) => name === 'accepted')).toEqual([])
  })

  it('cannot be used to sign deliveries for another receiver with the same key and no handshake', async () => {
    const other = createReceiver({ signatureKey: ['new', 'old'], observer: {} }).on('*', () =>
      expect.unreachable(),
    )
    for (const token of ['FeaturesCreated', 'changeType=', 'a', '12']) {
      const signature = (await get(`?crc_token=${encodeURIComponent(token)}`)).body.response_token ?? ''
      for (const type of ['application/json', FORM_TYPE]) {
        expect((await deliver(other, token, { 'content-type': type, 'x-service': signature })).status).toBe(
          400,
        )
      }
    }
  })

  it('is disabled without the profile', async () => {
    const request = () => new Request('http://a.example/hook?crc_token=abc')
    expect((await createReceiver({ signatureKey: KEY, observer: {} }).fetch(request())).status).toBe(405)
  })
})
