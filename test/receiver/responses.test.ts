import { arcgis, createReceiver, type Outcome, type ReceiverOptions } from 'geohook'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { deliver, JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { CASES } from '../helpers/outcomes.ts'
import { type NextResult, type ReceiverRequest, receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { warningsOf } from '../helpers/warnings.ts'

const body = payloadOf('FeaturesCreated')
const signature = signatureOf(body)

const create = (options: Partial<ReceiverOptions> = {}) =>
  createReceiver({ signatureKey: KEY, observer: createRecorder().observer, ...options })

const requestOf = (rest: Partial<ReceiverRequest> = {}): ReceiverRequest => ({
  method: 'POST',
  url: '/hook',
  headers: { 'content-type': JSON_TYPE, 'x-service': signature },
  read({ onChunk }) {
    onChunk(Buffer.from(body))
    return Buffer.from(body)
  },
  ...rest,
})

/** Response headers other than `content-type`, by status. */
const EXTRA: Record<number, Record<string, string>> = {
  401: { 'www-authenticate': 'HMAC-SHA256' },
  405: { allow: 'POST' },
  409: { 'retry-after': '5' },
  503: { 'retry-after': '5' },
}

describe('a response has exactly the headers of its status', () => {
  it.each(CASES)('%s', async (name, { status, play }) => {
    const { response } = await play(createRecorder().observer)
    const isError = status >= 400
    expect(Object.fromEntries(response.headers)).toEqual({
      'content-type': isError ? 'application/problem+json' : 'application/json',
      ...EXTRA[status],
      ...(name === 'receiver_closed' && { connection: 'close' }),
    })
  })

  it('allows GET in a 405 if the profile has a handshake', async () => {
    const outcome = await receiverPort(create({ profile: arcgis })).receive(requestOf({ method: 'PUT' }))
    expect([outcome.status, outcome.headers.allow]).toEqual([405, 'GET, POST'])
  })

  it('passes the same outcome to the observer', async () => {
    const { observer, calls } = createRecorder()
    const outcome = await receiverPort(create({ observer })).receive(requestOf({ method: 'PUT' }))
    expect(calls[0]?.outcome).toEqual(outcome)
  })
})

describe('next()', () => {
  it.each<[number | undefined, Outcome['kind']]>([
    [undefined, 'handled'],
    [200, 'handled'],
    [204, 'handled'],
    [404, 'handled'],
    [499, 'handled'],
    [500, 'failed'],
    [503, 'failed'],
  ])('with the status %s makes the outcome %s', async (status, kind) => {
    const outcome = await receiverPort(create()).receive(requestOf({ next: async () => ({ status }) }))
    expect([outcome.kind, outcome.status]).toEqual([kind, status ?? 200])
    if (kind === 'failed') expect(String(outcome.error?.cause)).toContain(String(status))
  })

  it('is not called by a receiver with handlers', async () => {
    const handler = vi.fn()
    const next = vi.fn()
    await receiverPort(create().on('*', handler)).receive(requestOf({ next }))
    expect([handler.mock.calls.length, next.mock.calls.length]).toEqual([1, 0])
  })
})

describe('close()', () => {
  it('resolves after the last of several requests, each of which closes its connection', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const receiver = create()
    expect((await receiverPort(receiver).receive(requestOf())).close).toBeUndefined()
    const gates = [createGate(), createGate()]
    const begun = gates.map(() => createGate())
    const ends = gates.map(({ gate }, index) => {
      async function next(): Promise<NextResult> {
        begun[index]?.release()
        await gate
        return {}
      }
      return receiverPort(receiver).receive(requestOf({ next }))
    })
    await Promise.all(begun.map(({ gate }) => gate))
    const isClosed = vi.fn()
    const closed = receiver.close().then(isClosed)
    for (const [index, { release }] of gates.entries()) {
      await vi.advanceTimersByTimeAsync(1_000)
      expect(isClosed).not.toHaveBeenCalled()
      release()
      expect(await ends[index]).toMatchObject({ status: 200, close: true })
    }
    await vi.advanceTimersByTimeAsync(1_000)
    await closed
  })
})

describe('a signature header that a platform passes as a list', () => {
  const statusOf = async (...list: string[]) =>
    (
      await receiverPort(create()).receive(
        requestOf({ headers: { 'content-type': JSON_TYPE, 'x-service': list } }),
      )
    ).status

  it('is accepted with one value', async () => expect(await statusOf(signature)).toBe(200))
  it('is rejected with two values', async () => expect(await statusOf(signature, signature)).toBe(401))
  it('is never joined from parts', async () =>
    expect(await statusOf(signature.slice(0, 32), signature.slice(32))).toBe(401))
})

it('gives a delivery an id of 32 hex digits and the name of its profile', async () => {
  const ids: string[] = []
  const handler = (_: unknown, { id, profile }: { id: string; profile: string }) => ids.push(id, profile)
  await receiverPort(create().on('*', handler)).receive(requestOf())
  const headers = { 'content-type': JSON_TYPE, 'x-esrihook-signature': signature }
  await receiverPort(create({ profile: arcgis }).on('*', handler)).receive(requestOf({ headers }))
  expect(ids).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), 'service', ids[0], 'arcgis'])
})

it.each([[['A', '']], [['A', 7]], [[]]])('on(%j) throws config_invalid', (changeTypes) => {
  expect(() => create().on(changeTypes as string[], () => {})).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  )
})

it('keeps the error of a stream, or the invalid result of a duplicate store, as the cause', async () => {
  const gone = new Error('gone')
  const { observer, calls } = createRecorder()
  const stream = new ReadableStream({ start: (controller) => controller.error(gone) })
  const init = { method: 'POST', headers: { 'x-service': signature }, body: stream, duplex: 'half' }
  await create({ observer }).fetch(new Request('http://a.example', init as RequestInit))
  const duplicates = { claim: async () => 'perhaps' as 'busy', done: async () => {}, release: async () => {} }
  await receiverPort(create({ observer, duplicates })).receive(requestOf())
  expect(calls.map(({ error }) => error?.cause)).toEqual([gone, undefined, 'perhaps'])
})

it('reports why the signature in a form field is invalid', async () => {
  const recorder = createRecorder()
  const receiver = create({ observer: recorder.observer })
  for (const field of ['', 'oops', '0'.repeat(64)]) {
    const sent = `payload=${body}&x-service=${field}`
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-service': '' }
    expect((await deliver(receiver, sent, headers)).status).toBe(401)
  }
  expect(recorder.lines).toEqual([
    'refused signature_missing',
    'refused signature_malformed',
    'refused signature_mismatch',
  ])
})

it('emits no warning at the start unless unsigned deliveries are accepted', async () => {
  expect(await warningsOf(() => createReceiver({ signatureKey: KEY, unsigned: 'reject' }))).toEqual([])
})
