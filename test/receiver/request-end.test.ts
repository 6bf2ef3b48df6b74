import { createHash } from 'node:crypto'
import {
  createReceiver,
  type Inbox,
  type Observer,
  type Outcome,
  type Receiver,
  type ReceiverOptions,
} from 'geohook'
import { createMemoryInbox } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { deliver, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { CASES } from '../helpers/outcomes.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { warningsOf } from '../helpers/warnings.ts'

describe('notifies the observer exactly once about the end of a request:', () => {
  it.each(CASES)('%s', async (name, { kind, status, inFlight = 0, play }) => {
    const { observer, calls } = createRecorder()
    const { receiver, response } = await play(observer)
    const ends = calls.filter((call) => call.name !== 'accepted')
    expect(ends).toMatchObject([
      {
        name: kind === 'stored' ? 'handled' : kind,
        outcome: { kind, status },
        milliseconds: expect.any(Number),
        request: { method: expect.any(String) },
      },
    ])
    const [end] = ends
    expect(response.status).toBe(status)
    expect(end?.error).toBe(end?.outcome?.error)
    const accepted = calls.find((call) => call.name === 'accepted')
    expect(end?.delivery).toBe(accepted?.delivery)
    if (name !== kind) expect(end?.error?.code).toBe(name)
    const { outcomes, ...stats } = await receiver.stats()
    expect([outcomes[kind], Object.values(outcomes).reduce((a, b) => a + b), stats.inFlight]).toEqual([
      1,
      1,
      inFlight,
    ])
  })

  it('with milliseconds since its start, also for a refused request', async () => {
    let now = 0
    const { observer, calls } = createRecorder()
    const receiver = createReceiver({
      observer,
      clock: () => now,
      signatureKey: () => {
        now += 40
        return null
      },
    })
    await deliver(receiver, '{}')
    expect(calls[0]?.milliseconds).toBe(40)
  })
})

describe('around', () => {
  const run = async (around: Observer['around']) => {
    let runs = 0
    const { observer, calls } = createRecorder()
    const receiver = createReceiver({
      signatureKey: KEY,
      observer: { ...observer, ...(around && { around }) },
    }).on('*', () => ++runs)
    const { status } = await deliver(receiver, payloadOf('A'))
    return { status, runs, ends: calls.filter(({ name }) => name !== 'accepted').length }
  }
  const once = { status: 200, runs: 1, ends: 1 }

  it('wraps the work from its start to its outcome', async () => {
    const lines: string[] = []
    let outcome: Outcome | undefined
    const receiver = createReceiver({
      signatureKey: () => {
        lines.push('key')
        return KEY
      },
      observer: {
        async around({ request, run }) {
          lines.push(`begins ${request.method}`)
          outcome = await run()
          lines.push('ends')
        },
        handled: () => lines.push('handled'),
      },
    }).on('*', () => lines.push('handler'))
    await deliver(receiver, payloadOf('A'))
    expect(lines).toEqual(['begins POST', 'key', 'handler', 'handled', 'ends'])
    expect(outcome).toMatchObject({ kind: 'handled', status: 200 })
  })

  it.each<[string, Observer['around']]>([
    ['never calls run', () => {}],
    ['never ends', () => new Promise(() => {})],
    ['calls run twice', ({ run }) => Promise.all([run(), run()])],
    ['calls run too late', ({ run }) => Promise.resolve().then(run)],
    ['calls run after the request', ({ run }) => void setImmediate(run)],
    [
      'throws immediately',
      () => {
        throw new Error('x')
      },
    ],
    [
      'throws after run',
      ({ run }) => {
        run()
        throw new Error('x')
      },
    ],
    [
      'rejects',
      async ({ run }) => {
        await run()
        throw new Error('x')
      },
    ],
  ])('that %s neither fails nor repeats the work', async (_, around) => {
    expect(await run(around)).toEqual(once)
    await new Promise((resolve) => setImmediate(resolve))
  })

  it('resolves with the outcome of a refused request', async () => {
    const outcomes: Outcome[] = []
    const observer: Observer = { around: async ({ run }) => outcomes.push(await run()), refused() {} }
    await deliver(createReceiver({ signatureKey: KEY, observer }), '{}', { 'x-service': '' })
    expect(outcomes).toMatchObject([{ kind: 'refused', status: 401 }])
  })

  it('does not suppress the log', async () => {
    const receiver = createReceiver({ signatureKey: KEY, observer: { around: ({ run }) => run() } })
    const lines = await warningsOf(() => deliver(receiver, '{}', { 'x-service': '' }))
    expect(lines).toEqual([expect.stringMatching(/^signature_missing/)])
  })
})

describe('stats', () => {
  const withInbox = (inbox: Inbox) => createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } })

  it('include those of the inbox', async () => {
    const inbox = createMemoryInbox({ maxPending: 7 })
    const receiver = withInbox(inbox)
    await deliver(receiver, payloadOf('A'))
    const { outcomes, instance, keys, ...stats } = await receiver.stats()
    expect(stats).toEqual({
      inFlight: 0,
      closed: false,
      inbox: {
        waiting: 1,
        active: 0,
        done: 0,
        dead: 0,
        unhandled: 0,
        maxPending: 7,
        paused: false,
        oldest: expect.any(Date),
      },
    })
    expect(outcomes.stored).toBe(1)
    await inbox.close()
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('unreachable'))],
    [
      'throws',
      () => {
        throw new Error('unreachable')
      },
    ],
  ])('have null for an inbox whose stats() %s', async (_, stats) => {
    expect(await withInbox({ put: async () => {}, stats }).stats()).toMatchObject({
      inFlight: 0,
      inbox: null,
    })
  })

  it('have no inbox for one without stats()', async () => {
    const receiver = withInbox({ put: async () => {} })
    await deliver(receiver, payloadOf('A'))
    const { outcomes, instance, keys, ...stats } = await receiver.stats()
    expect([outcomes.stored, stats]).toEqual([1, { inFlight: 0, closed: false }])
  })

  it('count the requests in flight, and say whether the receiver is closed', async () => {
    const { gate, release } = createGate()
    const recorder = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, observer: recorder.observer }).on('*', () => gate)
    const none = { handled: 0, unhandled: 0, stored: 0, duplicate: 0, handshake: 0, refused: 0, failed: 0 }
    expect(await receiver.stats()).toMatchObject({ outcomes: none, inFlight: 0, closed: false })
    const answer = deliver(receiver, payloadOf('A'))
    await recorder.waitFor('accepted')
    expect(await receiver.stats()).toMatchObject({ outcomes: none, inFlight: 1, closed: false })
    const closed = receiver.close()
    expect(await receiver.stats()).toMatchObject({ outcomes: none, inFlight: 1, closed: true })
    release()
    await Promise.all([answer, closed])
    expect(await receiver.stats()).toMatchObject({
      outcomes: { ...none, handled: 1 },
      inFlight: 0,
      closed: true,
    })
  })

  it('are a copy that callers can change', async () => {
    const receiver = createReceiver({ signatureKey: KEY })
    const stats = await receiver.stats()
    stats.outcomes.handled = 7
    for (const key of stats.keys ?? []) key.matched = 7
    await deliver(receiver, payloadOf('A'))
    const { outcomes, keys } = await receiver.stats()
    expect(outcomes).toMatchObject({ handled: 0, unhandled: 1 })
    keys?.[0]?.lastMatched?.setTime(0)
    expect((await receiver.stats()).keys).toMatchObject([{ matched: 1, lastMatched: expect.any(Date) }])
    expect((await receiver.stats()).keys?.[0]?.lastMatched).not.toEqual(new Date(0))
  })

  it('have a random id for each receiver, which stays the same', async () => {
    const [a, b] = [createReceiver({ signatureKey: KEY }), createReceiver({ signatureKey: KEY })]
    const idOf = async ({ stats }: Receiver) => (await stats()).instance
    expect(await idOf(a)).toMatch(/^[\da-f-]{36}$/)
    expect(await idOf(a)).toBe(await idOf(a))
    expect(await idOf(a)).not.toBe(await idOf(b))
  })

  it('count the matches of each key of a list', async () => {
    let now = 1_000
    const keys = ['newest', Buffer.from('older'), 'unused']
    const receiver = createReceiver({ signatureKey: keys, clock: () => now })
    const body = payloadOf('A')
    for (const key of ['newest', 'older', 'older', 'forged']) {
      now += 1_000
      await deliver(receiver, body, { 'x-service': signatureOf(body, key) })
    }
    const used = (key: string) => createHash('sha256').update(key).digest('hex').slice(0, 4)
    expect((await receiver.stats()).keys).toEqual([
      { fingerprint: used('newest'), matched: 1, lastMatched: new Date(2_000) },
      { fingerprint: used('older'), matched: 2, lastMatched: new Date(4_000) },
      { fingerprint: used('unused'), matched: 0 },
    ])
  })

  it('show the fingerprint of bytes that the program overwrites after construction', async () => {
    const key = Buffer.from('older')
    const receiver = createReceiver({ signatureKey: key })
    key.fill(0)
    expect((await receiver.stats()).keys).toEqual(
      (await createReceiver({ signatureKey: 'older' }).stats()).keys,
    )
  })

  it.each<[string, ReceiverOptions]>([
    ['a key function', { signatureKey: () => KEY }],
    ['no key', { unsigned: 'accept' }],
  ])('have no keys with %s', async (_, options) => {
    const receiver = createReceiver(options)
    await deliver(receiver, payloadOf('A'))
    expect(await receiver.stats()).not.toHaveProperty('keys')
  })
})
