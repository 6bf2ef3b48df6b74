import { createMemoryDuplicates } from 'geohook/inbox'
import type { FaultSeed } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { DELIVERY_FAULTS } from '../../../src/mock/faults/faults.ts'
import type { Recorder } from '../../helpers/recorder.ts'
import { aim, type Form, forms } from './aim.ts'
import { CREATED, statusesOf } from './support.ts'

const refusedTwice = (code: string): string[] => [`refused ${code}`, `refused ${code}`]

interface Outcome {
  statuses: (number | undefined)[]
  lines: string[]
  handlers: number
}

const MISMATCH: Outcome = { statuses: [401, 401], lines: refusedTwice('signature_mismatch'), handlers: 0 }
const MISSING: Outcome = { statuses: [401, 401], lines: refusedTwice('signature_missing'), handlers: 0 }
const UNKNOWN: Outcome = {
  statuses: [415, 415],
  lines: refusedTwice('content_type_unsupported'),
  handlers: 0,
}
const SLOW: Outcome = {
  statuses: [408, 200],
  lines: ['refused body_timeout', 'accepted', 'handled'],
  handlers: 1,
}

/** How our receiver handles each fault, as in the README. If a delivery is corrupted, its retries are corrupted too. */
const OUTCOMES: [FaultSeed, Outcome, { [form in Form]?: Outcome }?][] = [
  [{ fault: 'wrong_key' }, MISMATCH],
  [{ fault: 'altered' }, MISMATCH],
  [{ fault: 'unsigned' }, MISSING],
  // Truncation removes the signature, which is the last field of the form.
  [{ fault: 'truncated' }, MISMATCH, { 'a form, signed in a field': MISSING }],
  // The receiver looks for a signature field only in forms, and this body is labelled as plain text.
  [{ fault: 'wrong_content_type' }, UNKNOWN, { 'a form, signed in a field': MISSING }],
  [
    { fault: 'gzip' },
    { statuses: [415, 415], lines: refusedTwice('content_encoding_unsupported'), handlers: 0 },
  ],
  [{ fault: 'slow_drip', delay: 20 }, SLOW],
  [{ fault: 'wrong_length' }, SLOW],
  [
    { fault: 'connection_dropped' },
    { statuses: [undefined, 200], lines: ['refused body_aborted', 'accepted', 'handled'], handlers: 1 },
  ],
  [
    { fault: 'duplicate' },
    { statuses: [200, 200], lines: ['accepted', 'handled', 'accepted', 'duplicate'], handlers: 1 },
  ],
  [
    { fault: 'answer_lost' },
    { statuses: [undefined, 200], lines: ['accepted', 'handled', 'accepted', 'duplicate'], handlers: 1 },
  ],
  [
    { fault: 'delayed', delay: 1 },
    { statuses: [200], lines: ['accepted', 'handled'], handlers: 1 },
  ],
  [
    { fault: 'reordered', delay: 1 },
    { statuses: [200], lines: ['accepted', 'handled'], handlers: 1 },
  ],
]

describe.each(forms)('response of our receiver to every fault: %s', (form) => {
  it.each(OUTCOMES)('$fault', async (fault, outcome, exceptions) => {
    const { statuses, lines, handlers } = exceptions?.[form] ?? outcome
    const { service, recorder, handled } = await aim(form, { duplicates: createMemoryDuplicates() })
    service.faults.add({ ...fault, times: 1 })
    const attempts = await service.trigger(CREATED)
    expect(statusesOf(attempts)).toEqual(statuses)
    expect(attempts.every((attempt) => attempt.fault === fault.fault)).toBe(true)
    // The mock service may notice a broken connection before the receiver does.
    for (const line of lines) await recorder.waitFor(line)
    expect([...recorder.lines].sort()).toEqual([...lines].sort())
    expect(handled).toHaveLength(handlers)

    const next = await service.trigger({ ...CREATED, changeType: 'FeaturesDeleted' })
    expect(next, 'the next delivery is clean').toMatchObject([{ number: 1, answer: { status: 200 } }])
    expect(next[0]).not.toHaveProperty('fault')
    expect(handled.at(-1)).toBe('FeaturesDeleted')
  })
})

describe.each(forms)('one delivery sent twice: %s', (form) => {
  it('two_at_once: one copy is handled, the other gets 409 with Retry-After', async () => {
    // The handler of one copy runs until the receiver has refused the other copy.
    const handle = (recorder: Recorder) => recorder.waitFor('duplicate delivery_in_progress')
    const { service, recorder, handled } = await aim(form, { handle, duplicates: createMemoryDuplicates() })
    service.faults.add({ fault: 'two_at_once', times: 1 })
    const attempts = await service.trigger(CREATED)
    expect(statusesOf(attempts).sort()).toEqual([200, 409])
    expect(attempts.map(({ number }) => number)).toEqual([1, 2])
    const refused = attempts.find(({ answer }) => answer?.status === 409)?.answer
    expect(refused?.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    expect(JSON.parse(refused?.body ?? '')).toMatchObject({ code: 'delivery_in_progress' })
    expect([...recorder.lines].sort()).toEqual([
      'accepted',
      'accepted',
      'duplicate delivery_in_progress',
      'handled',
    ])
    expect(handled).toEqual(['FeaturesCreated'])
  })

  it.each(['duplicate', 'two_at_once', 'answer_lost'] as const)(
    '%s: a receiver without a store for duplicates handles the delivery twice',
    async (fault) => {
      const { service, handled } = await aim(form)
      service.faults.add({ fault })
      const [first, second] = await service.trigger(CREATED)
      expect(handled).toEqual(['FeaturesCreated', 'FeaturesCreated'])
      expect(second?.request).toEqual(first?.request)
      expect(second?.deliveryId).toBe(first?.deliveryId)
    },
  )

  it('duplicate: sent again only after a success', async () => {
    const handle = (): void => {
      if (handled.length < 2) throw new Error('not now')
    }
    const { service, handled, recorder } = await aim(form, { handle, duplicates: createMemoryDuplicates() })
    service.faults.add({ fault: 'duplicate' })
    expect(statusesOf(await service.trigger(CREATED))).toEqual([500, 200, 200])
    expect(recorder.lines.filter((line) => line !== 'accepted')).toEqual([
      'failed handler_failed',
      'handled',
      'duplicate',
    ])
  })
})

it('every fault of a delivery has a row in the table above or its own test', () => {
  const tested = [...OUTCOMES.map(([{ fault }]) => fault), 'two_at_once'].sort()
  expect(Object.keys(DELIVERY_FAULTS).sort()).toEqual(tested)
})
