import { createReceiver, type ReceiverOptions } from 'geohook'
import { createMemoryDuplicates } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'
import { receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { warningsOf } from '../helpers/warnings.ts'

const create = (options: Partial<ReceiverOptions> = {}) => createReceiver({ signatureKey: KEY, ...options })
const NEVER = () => expect.unreachable()
const NOTHING = () => {}

describe('a delivery without a handler', () => {
  it('has the outcome unhandled and status 200', async () => {
    const recorder = createRecorder()
    const { observer, calls } = recorder
    const receiver = create({ observer }).on('FeaturesDeleted', NEVER)
    expect(await deliver(receiver, payloadOf('FeaturesCreated'))).toMatchObject({
      status: 200,
      body: { status: 'unhandled' },
    })
    expect([recorder.lines, calls[1]?.outcome?.kind, calls[1]?.delivery?.changeTypes]).toEqual([
      ['accepted', 'unhandled'],
      'unhandled',
      ['FeaturesCreated'],
    ])
    expect((await receiver.stats()).outcomes).toMatchObject({ handled: 0, unhandled: 1 })
  })

  it('is handled if there is a handler for one of its events', async () => {
    const receiver = create().on('FeaturesDeleted', NOTHING)
    const answer = await deliver(receiver, payloadOf('FeaturesCreated', 'FeaturesDeleted'))
    expect(answer.body).toEqual({ status: 'handled' })
  })

  it('is not remembered as a duplicate, because nothing was done', async () => {
    const receiver = create({ duplicates: createMemoryDuplicates() }).on('A', NEVER)
    expect((await deliver(receiver, payloadOf('B'))).body).toEqual({ status: 'unhandled' })
    receiver.on('B', NOTHING)
    expect((await deliver(receiver, payloadOf('B'))).body).toEqual({ status: 'handled' })
    expect((await deliver(receiver, payloadOf('B'))).body).toEqual({ status: 'duplicate' })
  })

  it('is passed to the next handler of a middleware, without a warning', async () => {
    const lines = await warningsOf(async () => {
      const { headers, rawBody } = await acceptedRequest()
      const outcome = await receiverPort(create()).receive({
        method: 'POST',
        url: '/hook',
        headers,
        read: ({ onChunk }) => {
          onChunk(rawBody)
          return rawBody
        },
        next: async () => ({ status: 202 }),
      })
      expect([outcome.kind, outcome.status]).toEqual(['handled', 202])
    })
    expect(lines).toEqual([])
  })
})

/** Returns a request as a receiver sees it. */
async function acceptedRequest() {
  const { observer, calls } = createRecorder()
  await deliver(create({ observer }).on('*', NOTHING), payloadOf('A'))
  const { headers, rawBody } = calls[0]?.delivery ?? {}
  return { headers: headers ?? {}, rawBody: rawBody ?? new Uint8Array() }
}

describe('the warning about a change type without a handler', () => {
  it('names it once, with the registered names and the nearest one', async () => {
    const lines = await warningsOf(async () => {
      const receiver = create().on('ParcelsSplit', NEVER).on('ParcelsJoined', NOTHING)
      for (let i = 0; i < 3; i++) {
        await deliver(receiver, payloadOf('ParcelSplit'))
        await deliver(receiver, payloadOf('ParcelsJoined', 'Other'))
      }
    })
    expect(lines).toEqual([
      'change_type_unhandled: No handler ran for the change type "ParcelSplit". Registered: "ParcelsSplit", ' +
        '"ParcelsJoined". Did you mean on("ParcelSplit") instead of on("ParcelsSplit")?',
      'change_type_unhandled: No handler ran for the change type "Other". Registered: "ParcelsSplit", ' +
        '"ParcelsJoined". Call receiver.on("Other", handler), with an empty handler to ignore it.',
    ])
  })

  it('is emitted even if the observer has a function for unhandled deliveries', async () => {
    const { observer } = createRecorder()
    const lines = await warningsOf(() => deliver(create({ observer }).on('A', NEVER), payloadOf('B')))
    expect(lines.length).toBe(1)
  })

  it('says to call on() if the receiver has no handlers', async () => {
    const lines = await warningsOf(() => deliver(create(), payloadOf('FeaturesCreated')))
    expect(lines).toEqual([expect.stringMatching(/^change_type_unhandled: .* call receiver\.on\(changeType/)])
  })

  it('says that only wildcard handlers receive an event without a change type', async () => {
    const lines = await warningsOf(() => deliver(create().on('A', NEVER), '{"hello":"world"}'))
    expect(lines).toEqual([expect.stringMatching(/without a change type: only on\("\*"\) receives it/)])
  })

  it('makes a change type printable and shortens it', async () => {
    const name = `\u001b[31m\u202e\n"${'x'.repeat(1_000)}`
    const lines = await warningsOf(() => deliver(create().on('A', NEVER), payloadOf(name)))
    expect(lines).toEqual([expect.stringMatching(/type "%1B\[31m%E2%80%AE%0A\\"x{56}"\. Registered: "A"\./)])
  })

  it('is emitted for a bounded number of change types', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `Made up ${index}`)
    const lines = await warningsOf(() => deliver(create().on('A', NEVER), payloadOf(...names)))
    expect(lines.length).toBe(32)
    expect(lines.at(-1)).toMatch(/"Made up 31"\. .* Further change types are not reported\.$/)
  })
})

describe('on()', () => {
  it('warns once about a name that is subscribed twice', async () => {
    const lines = await warningsOf(() => create().on('FeatureCreated', NOTHING).on('FeatureCreated', NOTHING))
    expect(lines.length).toBe(1)
  })

  it.each([
    ['FeatureCreated', 'FeaturesCreated'],
    ['featurescreated', 'FeaturesCreated'],
    ['FeaturesUpdatde', 'FeaturesUpdated'],
    ['esriJobSuceeded', 'esriJobSucceeded'],
    ['esriJobCanceled', 'esriJobCancelled'],
  ])('warns at once that %s is nearly %s', async (name, meant) => {
    expect(await warningsOf(() => create().on(['*', name, name], NOTHING))).toEqual([
      `change_type_misspelt: on("${name}"): did you mean "${meant}"? The names are case-sensitive.`,
    ])
  })

  it.each(['FeaturesCreated', 'FeaturesEdited', 'PostPerformed', 'ParcelsSplit', 'x', '*'])(
    'does not warn about %s',
    async (name) => {
      expect(await warningsOf(() => create().on(name, NOTHING))).toEqual([])
    },
  )
})
