import {
  arcgis,
  createReceiver,
  type Delivery,
  explain,
  type KeyFunction,
  type ReceiverOptions,
  type RequestHead,
} from 'geohook'
import { createMemoryDuplicates, createMemoryInbox } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { type ReceiverRequest, receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { warningsOf } from '../helpers/warnings.ts'

const BODY = payloadOf('A')
const tenantIn = ({ url }: Pick<RequestHead, 'url'>): string => url.split('/')[1] ?? ''

/** All tenants have the same key here: only the name makes a difference. */
const named: KeyFunction = (request) => ({ keys: KEY, tenant: tenantIn(request) })
const returning = (value: unknown): KeyFunction => (() => value) as KeyFunction

/** Creates a receiver that records what it gets. */
function create(options: Partial<ReceiverOptions> = {}) {
  const recorder = createRecorder()
  const handled: Delivery[] = []
  const receiver = createReceiver({
    signatureKey: named,
    observer: recorder.observer,
    ...options,
  } as ReceiverOptions)
  if (!options.inbox) receiver.on('*', (_, delivery) => void handled.push(delivery))
  const post = async (url: string, body = BODY, headers: Record<string, string> = {}) => {
    const bytes = Buffer.from(body)
    const request: ReceiverRequest = {
      method: 'POST',
      url,
      headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf(body), ...headers },
      read({ onChunk }) {
        onChunk(bytes)
        return bytes
      },
    }
    return (await receiverPort(receiver).receive(request)).status
  }
  return { receiver, recorder, handled, post }
}

describe('the tenant that a key function names', () => {
  it('is in the delivery, and in what the observer gets of every request', async () => {
    const { recorder, handled, post } = create()
    expect([await post('/a'), await post('/b', BODY, { 'x-service': signatureOf('other') })]).toEqual([
      200, 401,
    ])
    expect(handled.map(({ tenant, keyIndex }) => [tenant, keyIndex])).toEqual([['a', 0]])
    expect(recorder.calls).toMatchObject([
      { name: 'accepted', delivery: { tenant: 'a' } },
      { name: 'handled', tenant: 'a', delivery: { tenant: 'a' } },
      { name: 'refused', tenant: 'b', code: 'signature_mismatch' },
    ])
  })

  it('is absent if the function returns only keys', async () => {
    const { recorder, handled, post } = create({ signatureKey: () => KEY })
    await post('/a')
    expect(handled[0]).not.toHaveProperty('tenant')
    expect(recorder.calls.at(-1)).toMatchObject({ name: 'handled', tenant: undefined })
  })

  it.each<[string, KeyFunction]>([
    ['a promise', async (request) => named(request)],
    ['a list of keys', (request) => ({ keys: ['new', KEY], tenant: tenantIn(request) })],
    ['keys as bytes', (request) => ({ keys: Buffer.from(KEY), tenant: tenantIn(request) })],
    [
      'an instance of a class',
      (request) =>
        new (class Row {
          keys = KEY
          tenant = tenantIn(request)
        })(),
    ],
    ['an object without a prototype', (request) => Object.assign(Object.create(null), named(request))],
  ])('can come with %s', async (_, signatureKey) => {
    const { handled, post } = create({ signatureKey })
    expect([await post('/a'), handled[0]?.tenant]).toEqual([200, 'a'])
  })

  it.each(['__proto__', 'constructor', 'toString', ' ', 'ä'.repeat(200), '😀'.repeat(200), '"]', '\u2028'])(
    'can be any text: %j',
    async (tenant) => {
      const inbox = createMemoryInbox()
      const { post } = create({ signatureKey: () => ({ keys: KEY, tenant }), inbox })
      expect(await post('/a')).toBe(202)
      const [entry] = (await inbox.list()).entries
      expect((await inbox.get(entry?.id ?? ''))?.delivery.tenant).toBe(tenant)
      expect(({} as Record<string, unknown>).tenant).toBeUndefined()
    },
  )

  it('makes the same bytes from two tenants two deliveries, but not two attempts of one tenant', async () => {
    const { handled, post } = create({ duplicates: createMemoryDuplicates() })
    for (const url of ['/a', '/b', '/a', '/b/2']) expect(await post(url)).toBe(200)
    expect(handled.map(({ tenant }) => tenant)).toEqual(['a', 'b'])
    expect(handled[0]?.id).toMatch(/^[0-9a-f]{32}$/)
    expect(handled[0]?.id).not.toBe(handled[1]?.id)

    const inbox = createMemoryInbox()
    const stored = create({ inbox })
    const statuses = []
    for (const url of ['/a', '/b', '/a']) statuses.push(await stored.post(url))
    expect([statuses, (await inbox.stats()).waiting]).toEqual([[202, 202, 200], 2])
  })

  it.each<[string, Partial<ReceiverOptions>, Record<string, string>, string]>([
    ['portal requests', { profile: 'portal' }, { secret: KEY }, BODY],
    ['unsigned requests', { unsigned: 'accept' }, { 'x-service': '' }, BODY],
    ['unsigned portal requests', { profile: 'portal', unsigned: 'accept' }, { 'x-service': '' }, BODY],
    [
      'unsigned forms',
      { unsigned: 'accept' },
      { 'x-service': '', 'content-type': FORM_TYPE },
      `payload=${encodeURIComponent(BODY)}`,
    ],
    [
      'forms with a signature',
      {},
      { 'x-service': '', 'content-type': FORM_TYPE },
      `payload=${BODY}&x-service=${signatureOf(BODY)}`,
    ],
  ])('belongs to %s too', async (_, options, headers, body) => {
    const { handled, post } = create(options)
    expect([await post('/a', body, headers), await post('/b', body, headers)]).toEqual([200, 200])
    expect(handled.map(({ tenant }) => tenant)).toEqual(['a', 'b'])
    expect(handled[0]?.id).not.toBe(handled[1]?.id)
  })

  it('is kept in a stored delivery, which is rejected if the tenant is invalid', async () => {
    const { receiver, handled, post } = create()
    await post('/a')
    const { payload: _, events: __, changeTypes: ___, ...stored } = handled[0] as Delivery
    await receiver.handle(stored)
    expect(handled[1]?.tenant).toBe('a')
    await receiver.handle({ ...stored, tenant: null } as never) // as a database returns it
    for (const tenant of ['', 7, {}, 'a\n'])
      await expect(receiver.handle({ ...stored, tenant } as never)).rejects.toThrow('stored.tenant')
  })
})

describe('what a key function returns by mistake', () => {
  const throwing = (member: 'keys' | 'tenant') =>
    Object.defineProperty({ keys: KEY, tenant: 'a' }, member, {
      enumerable: true,
      get() {
        throw new Error(KEY)
      },
    })
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }

  it.each<[string, unknown, string]>([
    ['no tenant', { keys: KEY }, 'tenant must be 1 to 200'],
    ['an undefined tenant', { keys: KEY, tenant: undefined }, 'tenant must be 1 to 200'],
    ['an empty tenant', { keys: KEY, tenant: '' }, 'tenant must be 1 to 200'],
    ['a number', { keys: KEY, tenant: 7 }, 'tenant must be 1 to 200'],
    ['an object as the tenant', { keys: KEY, tenant: { toString: () => 'a' } }, 'tenant must be 1 to 200'],
    ['a list as the tenant', { keys: KEY, tenant: ['a'] }, 'tenant must be 1 to 200'],
    ['a String', { keys: KEY, tenant: new String('a') }, 'tenant must be 1 to 200'],
    ['201 characters', { keys: KEY, tenant: 'a'.repeat(201) }, 'tenant must be 1 to 200'],
    ['10 million characters', { keys: KEY, tenant: 'a'.repeat(1e7) }, 'tenant must be 1 to 200'],
    ['a NUL', { keys: KEY, tenant: 'a\0' }, 'tenant must be 1 to 200'],
    ['a line feed', { keys: KEY, tenant: 'a\n' }, 'tenant must be 1 to 200'],
    ['an unpaired surrogate', { keys: KEY, tenant: 'a\ud800' }, 'tenant must be 1 to 200'],
    ['no keys member', { tenant: 'a' }, 'return keys, or { keys, tenant }'],
    ['a misspelt member', { key: KEY, tenant: 'a' }, 'return keys, or { keys, tenant }'],
    ['another member', { keys: KEY, tenant: 'a', id: 1 }, 'return keys, or { keys, tenant }'],
    ['an empty object', {}, 'return keys, or { keys, tenant }'],
    ['a Map', new Map([['a', KEY]]), 'tenant must be 1 to 200'],
    [
      'a promise inside',
      { keys: Promise.resolve(KEY), tenant: 'a' },
      'signatureKey must be a string or bytes',
    ],
    [
      'a tenant inside',
      { keys: { keys: KEY, tenant: 'a' }, tenant: 'a' },
      'signatureKey must be a string or',
    ],
    ['a number as the key', { keys: 7, tenant: 'a' }, 'signatureKey must be a string or bytes'],
    ['a blank key', { keys: ' ', tenant: 'a' }, 'signatureKey is empty'],
    ['no keys', { keys: [], tenant: 'a' }, 'Key unknown'],
    ['null', { keys: null, tenant: 'a' }, 'Key unknown'],
    ['undefined', { keys: undefined, tenant: 'a' }, 'Key unknown'],
  ])('gets 401 like an unknown tenant, and the observer gets the reason: %s', async (_, value, message) => {
    for (const unsigned of ['reject', 'accept'] as const) {
      const { recorder, post } = create({ signatureKey: returning(value), unsigned })
      const unknown = create({ signatureKey: () => undefined })
      expect(await post('/a')).toBe(401)
      await unknown.post('/a')
      const answer = ({ calls }: typeof recorder) => {
        const { kind, status, headers, body } = calls[0]?.outcome ?? {}
        return { kind, status, headers, body }
      }
      expect(answer(recorder)).toEqual(answer(unknown.recorder))
      expect(recorder.calls[0]?.error).toMatchObject({
        code: 'key_unknown',
        message: expect.stringContaining(message),
      })
      // An unsigned request needs no key, but its delivery must not lose its tenant.
      const isNamed = /^signatureKey|^Key unknown/.test(message)
      const isAccepted = unsigned === 'accept' && isNamed
      expect(await post('/a', BODY, { 'x-service': '' })).toBe(isAccepted ? 200 : 401)
    }
  })

  it('appears in the evidence of explain', async () => {
    const ask = async (value: unknown) => {
      const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(BODY) }
      return explain({ body: BODY, headers }, { signatureKey: returning(value) })
    }
    expect(await ask({ keys: KEY, tenant: 'a' })).toMatchObject({ cause: 'ok' })
    expect(await ask({ keys: ['new', KEY], tenant: 'a' })).toMatchObject({ cause: 'key_previous' })
    expect(await ask({ keys: [], tenant: 'a' })).toMatchObject({
      cause: 'key_unknown',
      evidence: expect.stringContaining('an empty list and the name of a tenant'),
    })
    expect(await ask({ keys: KEY, tenant: '' })).toMatchObject({
      cause: 'key_invalid',
      evidence: expect.stringContaining('tenant must be 1 to 200 characters'),
    })
    expect(await ask(throwing('keys'))).toMatchObject({ cause: 'key_unavailable' })

    const askUnsigned = (value: unknown, profile: 'service' | 'portal') =>
      explain(
        { body: BODY, headers: { 'content-type': JSON_TYPE } },
        { signatureKey: returning(value), unsigned: 'accept', profile },
      )
    for (const profile of ['service', 'portal'] as const) {
      expect(await askUnsigned({ keys: null, tenant: 'a' }, profile)).toMatchObject({ cause: 'ok' })
      expect(await askUnsigned({ keys: null, tenant: '' }, profile)).toMatchObject({ cause: 'key_invalid' })
    }
  })

  it.each<[string, () => unknown]>([
    ['keys', () => throwing('keys')],
    ['the tenant', () => throwing('tenant')],
    ['everything', revoked],
    [
      'a list of keys',
      () =>
        new Proxy([KEY], {
          get() {
            throw new Error('down')
          },
        }),
    ],
  ])('fails like a key function that throws, if reading %s throws', async (_, create503) => {
    const { recorder, post } = create({ signatureKey: () => create503() as never })
    expect(await post('/a')).toBe(503)
    expect(recorder.lines).toEqual(['refused key_unavailable'])
  })

  it('does not get into the log', async () => {
    const { post } = create({
      signatureKey: returning({ keys: KEY, tenant: `${KEY}\n` }),
      observer: undefined,
    })
    const lines = await warningsOf(async () => void (await post('/a')))
    expect(lines.join()).toContain('tenant must be 1 to 200')
    expect(lines.join()).not.toContain(KEY)
  })
})

describe('a handshake', () => {
  /** Two paths of each tenant: `/hooks/a` and `/HOOKS/a/`. */
  const nameOf = ({ url }: RequestHead): string => url.split('?')[0]?.split('/')[2] ?? ''

  async function ask(signatureKey: KeyFunction, paths: readonly string[], params?: RequestHead['params']) {
    const recorder = createRecorder()
    const receiver = createReceiver({ signatureKey, profile: arcgis, observer: recorder.observer })
    const answers: string[] = []
    for (const path of paths) {
      const request = { method: 'GET', url: `${path}?crc_token=abc`, headers: {}, params }
      const { status, body } = await receiverPort(receiver).receive({
        ...request,
        read: () => new Uint8Array(),
      })
      answers.push(`${status} ${body}`)
    }
    return { answers, calls: recorder.calls }
  }

  it.each<[string, (name: string) => unknown]>([
    ['a key', () => KEY],
    ['no key', () => []],
    ['null', () => null],
    ['an invalid key', () => ' '],
  ])('gets one response for all paths of a tenant with %s', async (_, keysOf) => {
    const signatureKey: KeyFunction = (request) => {
      const tenant = nameOf(request)
      return { keys: keysOf(tenant) as string, tenant }
    }
    const { answers, calls } = await ask(signatureKey, ['/hooks/a', '/HOOKS/a/', '/hooks/b'])
    const [first, second, other] = answers
    expect(first).toMatch(/^200 \{"response_token":"sha256=[A-Za-z0-9+/]{43}="\}$/)
    expect(second).toBe(first)
    expect(other === first).toBe(keysOf('a') === KEY) // all tenants have one key here
    expect(calls).toMatchObject([{ tenant: 'a' }, { tenant: 'a' }, { tenant: 'b' }])
  })

  it('has a decoy key of the named tenant, whatever the route parameters', async () => {
    const signatureKey: KeyFunction = (request) => ({ keys: [], tenant: nameOf(request) })
    const { answers } = await ask(signatureKey, ['/hooks/a', '/HOOKS/a/', '/hooks/b'], { version: '1' })
    expect([answers[0] === answers[1], answers[0] === answers[2]]).toEqual([true, false])
  })

  it('has a decoy key of its path if the name is invalid', async () => {
    const { answers } = await ask(returning({ keys: KEY, tenant: '' }), ['/a', '/b', '/a'])
    expect([new Set(answers).size, answers[0] === answers[2]]).toEqual([2, true])
  })
})
