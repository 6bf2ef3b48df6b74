import { arcgis, createReceiver, type SignatureKeys } from 'geohook'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { base64Of, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { type ReceiverRequest, receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'

const BODY = new TextEncoder().encode(payloadOf('A'))

const delivery = (url: string, signature = '0'.repeat(64), body = BODY): ReceiverRequest => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/json', 'x-esrihook-signature': signature },
  read({ onChunk }) {
    onChunk(body)
    return body
  },
})

const handshake = (url: string, params?: ReceiverRequest['params']): ReceiverRequest => ({
  method: 'GET',
  url: `${url}?crc_token=abc`,
  headers: {},
  params,
  read: () => new Uint8Array(),
})

/** Creates a receiver for several tenants. `keys` contains the keys of each tenant by URL path. */
function createTenants(keys: Record<string, SignatureKeys>) {
  const recorder = createRecorder()
  const signatureKey = ({ url }: { url: string }) => keys[new URL(url, 'http://a.example').pathname]
  const receiver = createReceiver({ signatureKey, profile: arcgis, observer: recorder.observer })
  const ask = async (request: ReceiverRequest): Promise<string> => {
    const { status, headers, body } = await receiverPort(receiver).receive(request)
    expect([status, headers]).toEqual([200, { 'content-type': 'application/json' }])
    return JSON.parse(body).response_token
  }
  return { receiver, ask, recorder }
}

describe('a handshake without a key', () => {
  it('is signed with a decoy key, which differs between tenants and stays the same for each', async () => {
    const { ask, recorder } = createTenants({ '/a': KEY, '/blank': ' ' })
    expect(await ask(handshake('/a'))).toBe(`sha256=${base64Of('abc', KEY)}`)
    const answers = await Promise.all(['/b', '/c', '/blank'].map((path) => ask(handshake(path))))
    expect(new Set(answers).size).toBe(3)
    for (const answer of answers) expect(answer).toMatch(/^sha256=[A-Za-z0-9+/]{43}=$/)
    expect(await ask(handshake('/b'))).toBe(answers[0])
    expect(await ask(handshake('http://a.example/b'))).toBe(answers[0])
    expect(await ask(handshake('https://b.example/b'))).toBe(answers[0])
    expect(recorder.lines).toEqual(['handshake', ...new Array(6).fill('refused key_unknown')])
  })

  it('identifies the tenant by the route parameters, whatever the path', async () => {
    const { ask } = createTenants({})
    const answer = await ask(handshake('/hooks/b', { tenant: 'b' }))
    expect(await ask(handshake('/HOOKS/%62/', { tenant: 'b' }))).toBe(answer)
    expect(await ask(handshake('/hooks/b', { tenant: 'c' }))).not.toBe(answer)
    expect(await ask(handshake('/hooks/b', {}))).toBe(await ask(handshake('/hooks/b')))
  })

  it('keeps its decoy key when keys become longer and rings larger', async () => {
    const keys: Record<string, SignatureKeys> = { '/a': KEY }
    const { ask, receiver } = createTenants(keys)
    const answer = await ask(handshake('/b'))
    keys['/a'] = ['k'.repeat(200), KEY, 'old']
    await receiverPort(receiver).receive(delivery('/a'))
    expect(await ask(handshake('/b'))).toBe(answer)
  })

  it('uses a different decoy key in each receiver', async () => {
    const [first, second] = [createTenants({}), createTenants({})]
    expect(await first.ask(handshake('/b'))).not.toBe(await second.ask(handshake('/b')))
  })

  it('is counted as refused, and the observer sees the response', async () => {
    const { ask, receiver, recorder } = createTenants({ '/many': new Array(101).fill(KEY) })
    await ask(handshake('/many'))
    expect((await receiver.stats()).outcomes).toMatchObject({ handshake: 0, refused: 1 })
    expect(recorder.calls[0]?.outcome).toMatchObject({ kind: 'refused', status: 200 })
    const { error } = recorder.calls[0] ?? {}
    expect([error?.code, error?.message]).toEqual(['key_unknown', 'signatureKey has more than 100 keys'])
    expect(error).not.toHaveProperty('cause')
  })

  it('never produces a signature that is accepted for a delivery', async () => {
    const { ask, receiver, recorder } = createTenants({ '/two': ['new', 'old'], '/one': KEY })
    await receiverPort(receiver).receive(delivery('/two'))
    const token = new TextEncoder().encode('abc')
    for (const path of ['/b', '', '/one']) {
      const signature = path === '/one' ? await ask(handshake('/b')) : await ask(handshake(path))
      const { status } = await receiverPort(receiver).receive(delivery(path, signature, token))
      expect(status).toBe(401)
    }
    expect(recorder.lines).not.toContain('accepted')
  })
})

it.each<[string, unknown, string]>([
  ['no key', undefined, 'Key unknown'],
  ['an empty key', '', 'Key unknown'],
  ['an empty list', [], 'Key unknown'],
  ['a blank key', ' ', 'signatureKey is empty'],
  ['holes', new Array(2), 'signatureKey is missing'],
  ['numbers', new Array(100).fill(1), 'signatureKey must be a string or bytes'],
  ['101 keys', new Array(101).fill(KEY), 'signatureKey has more than 100 keys'],
])(
  'after a long key, %s gets the same response, and the observer the right reason',
  async (_, keys, message) => {
    const { receiver, recorder } = createTenants({ '/long': 'k'.repeat(64), '/bad': keys as SignatureKeys })
    await receiverPort(receiver).receive(delivery('/long'))
    expect((await receiverPort(receiver).receive(delivery('/bad'))).status).toBe(401)
    expect(recorder.calls.at(-1)?.error).toMatchObject({
      code: 'key_unknown',
      message: expect.stringContaining(message),
    })
  },
)

describe('decoy keys in a ring', () => {
  it('do not mix up the keys of tenants', async () => {
    const { receiver, recorder } = createTenants({ '/two': ['new', 'old'], '/one': Buffer.from(KEY) })
    const statusOf = async (path: string, key: string) =>
      (await receiverPort(receiver).receive(delivery(path, signatureOf(BODY, key)))).status
    for (let round = 0; round < 2; round++) {
      expect([await statusOf('/one', KEY), await statusOf('/two', 'old')]).toEqual([200, 200])
      expect([await statusOf('/one', 'old'), await statusOf('/two', KEY)]).toEqual([401, 401])
      expect(await statusOf('/none', KEY)).toBe(401)
    }
    const codes = recorder.calls.flatMap(({ code }) => code ?? [])
    expect(codes.slice(0, 3)).toEqual(['signature_mismatch', 'signature_mismatch', 'key_unknown'])
  })
})

it.each<[string, SignatureKeys]>([
  ['a string', KEY],
  ['bytes', Buffer.from(KEY)],
  ['bytes, then a string', [Buffer.from(KEY), 'old']],
])('a decoy is of the same type as the keys of other tenants: %s', async (_, keys) => {
  const { receiver } = createTenants({ '/known': keys })
  const encode = vi.spyOn(TextEncoder.prototype, 'encode')
  onTestFinished(() => encode.mockRestore())
  // Counts the texts that are encoded, because each key that is a string costs one.
  const countEncoded = async (path: string): Promise<number> => {
    encode.mockClear()
    await receiverPort(receiver).receive(delivery(path))
    return encode.mock.calls.length
  }
  await receiverPort(receiver).receive(delivery('/known'))
  expect(await countEncoded('/unknown')).toBe(await countEncoded('/known'))
})

/** The keys that the key function returns for `/known` and `/unknown`, and optionally the request to send. */
type Case = [
  name: string,
  known: SignatureKeys,
  unknown: SignatureKeys | undefined,
  toRequest?: (url: string) => ReceiverRequest,
]

describe('takes as long for a tenant without a key as for a wrong signature:', () => {
  it.each<Case>([
    ['one key', KEY, undefined],
    ['two keys', ['new', KEY], undefined],
    ['long keys', 'k'.repeat(128), undefined],
    ['keys as bytes', Buffer.from(KEY), undefined],
    ['a blank key', KEY, ' '],
    ['a handshake', KEY, undefined, handshake],
    // The test is retried, because other work on the machine can make equal times differ, but not different times
    // equal.
  ])('%s', { retry: 9 }, async (_, known, unknown, toRequest = (url: string) => delivery(url)) => {
    const receiver = createReceiver({
      signatureKey: ({ url }) => (url.startsWith('/known') ? known : unknown),
      profile: arcgis,
      observer: { refused() {}, handshake() {} },
    })
    // Compares medians, because other work on the machine hardly affects them. `npm run timing` is more precise.
    const requests = [toRequest('/known'), toRequest('/unknown')] as const
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
})
