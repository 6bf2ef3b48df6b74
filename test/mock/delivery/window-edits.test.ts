import type { ManualClock, MockService, Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, signatureOf } from '../../helpers/deliver.ts'
import { pathOf, post, same, seed } from '../support.ts'
import { alter, CREATED, createAt, every, NOW, PLAIN, payloadOf, receive, type Waiting } from './support.ts'

const MINUTE = 60_000
const DELETED = { ...CREATED, changeType: 'FeaturesDeleted' }

interface Open {
  service: MockService
  clock: ManualClock
  receiver: Waiting
  /** Edits the webhook over the administration API. */
  edit(parameters: Record<string, string>): Promise<void>
  triggered: Promise<unknown[]>
}

/** Opens a window of one minute with one event, and adds a second event after ten seconds. */
async function open(): Promise<Open> {
  const receiver = await receive()
  const webhook = seed(PLAIN, { hookUrl: receiver.url, scheduleInfo: every(1, 'minute') })
  const { service, clock } = createAt([webhook])
  await service.listen()
  const triggered = service.trigger(CREATED)
  await clock.advance(10_000)
  await service.trigger([]) // adds nothing, and resolves immediately
  service.trigger(DELETED).catch(() => {})
  return {
    service,
    clock,
    receiver,
    triggered,
    async edit(parameters) {
      const { status } = await post(service, `${pathOf(webhook)}/edit`, { ...same(webhook), ...parameters })
      expect(status).toBe(200)
    },
  }
}

const schedule = (changes: object): Record<string, string> => ({ scheduleInfo: JSON.stringify(changes) })
const lengthsOf = ({ requests }: Waiting): number[] => requests.map((r) => payloadOf(r).events.length)

describe('an edit while a window is open: the delivery uses the webhook as it is when the window closes', () => {
  it('nothing has changed', async () => {
    const { clock, receiver, triggered } = await open()
    await clock.advance(MINUTE)
    expect(await triggered).toMatchObject([{ sentAt: NOW + MINUTE }])
    expect(lengthsOf(receiver)).toEqual([2])
  })

  it('a new payload URL', async () => {
    const { clock, receiver, edit } = await open()
    const elsewhere = await receive()
    await edit({ hookUrl: elsewhere.url })
    await clock.advance(MINUTE)
    expect([lengthsOf(receiver), lengthsOf(elsewhere)]).toEqual([[], [2]])
  })

  it('a new key, name, content type and format', async () => {
    const { clock, receiver, edit } = await open()
    await edit({ signatureKey: 'parcels2027', name: 'renamed' })
    await edit({ name: 'renamed', payloadFormat: 'pjson', contentType: FORM_TYPE })
    await clock.advance(MINUTE)
    const [{ body, headers }] = receiver.requests as [Waiting['requests'][number]]
    expect(headers).toMatchObject({
      'content-type': FORM_TYPE,
      'x-service': signatureOf(body, 'parcels2027'),
    })
    const text = new URLSearchParams(body.toString()).get('payload') ?? ''
    expect(text).toMatch(/^\{\n {2}"serviceType"/)
    expect(JSON.parse(text).name).toBe('renamed')
  })

  it('other change types: events that they do not select are dropped', async () => {
    const { clock, receiver, edit } = await open()
    await edit({ changeTypes: 'FeaturesDeleted' })
    await clock.advance(MINUTE)
    const names = receiver.requests.map((r) => payloadOf(r).events.map(({ eventType }) => eventType))
    expect(names).toEqual([['FeaturesDeleted']])
  })

  it('change types that select nothing: nothing is sent', async () => {
    const { clock, receiver, edit, triggered } = await open()
    await edit({ changeTypes: 'LayerSchemaChanged' })
    await clock.advance(MINUTE)
    expect([await triggered, receiver.requests]).toEqual([[], []])
  })

  it('more change types: earlier events of these types were not gathered', async () => {
    const receiver = await receive()
    const webhook = seed(PLAIN, {
      hookUrl: receiver.url,
      scheduleInfo: every(1, 'minute'),
      changeTypes: ['FeaturesDeleted'],
    })
    const { service, clock } = createAt([webhook])
    await service.trigger(CREATED)
    alter(service, { changeTypes: ['*'] })
    const triggered = service.trigger(DELETED)
    await clock.advance(MINUTE)
    await triggered
    expect(lengthsOf(receiver)).toEqual([1])
  })

  it.each<[string, object, number]>([
    ['shorter', { recurrenceInfo: { interval: 30, frequency: 'second' } }, 30_000],
    ['longer', { recurrenceInfo: { interval: 1, frequency: 'day' } }, 86_400_000],
    ['so short that it is over', { recurrenceInfo: { interval: 1, frequency: 'second' } }, 10_000],
    ['that begins later', { startAt: NOW + 47_000 }, 47_000],
    ['that began earlier', { startAt: NOW - 45_000 }, 15_000],
  ])('a schedule that is %s applies immediately', async (_, changes, closes) => {
    const { clock, receiver, edit, triggered } = await open()
    await edit(schedule(changes))
    await clock.advance(closes - 10_000)
    expect(await triggered).toMatchObject([{ sentAt: NOW + closes }])
    expect(lengthsOf(receiver)).toEqual([2])
  })

  it('a schedule that is disabled: nothing is sent', async () => {
    const { service, clock, receiver, edit, triggered } = await open()
    await edit(schedule({ state: 'disabled' }))
    expect(await service.trigger(CREATED)).toEqual([])
    await clock.advance(MINUTE)
    expect([await triggered, receiver.requests]).toEqual([[], []])
  })

  it('a schedule that is disabled and enabled again: gathered events are sent', async () => {
    const { clock, receiver, edit } = await open()
    await edit(schedule({ state: 'disabled' }))
    await clock.advance(20_000)
    await edit(schedule({ state: 'enabled' }))
    await clock.advance(MINUTE)
    expect(lengthsOf(receiver)).toEqual([2])
  })

  it('webhook inactive: nothing is sent', async () => {
    const { clock, receiver, edit, triggered } = await open()
    await edit({ active: 'false' })
    await clock.advance(MINUTE)
    expect(await triggered).toEqual([])
    expect(receiver.requests).toEqual([])
  })

  it('webhook inactive, and active again before the window closes: the events are sent', async () => {
    const { clock, receiver, edit, triggered } = await open()
    await edit({ active: 'false' })
    await edit({ active: 'true' })
    await clock.advance(MINUTE)
    expect(await triggered).toHaveLength(1)
    expect(receiver.requests).toHaveLength(1)
  })

  it('webhook deleted: nothing is sent, and trigger resolves immediately', async () => {
    const { service, clock, receiver, triggered } = await open()
    await post(service, `${pathOf(PLAIN)}/delete`, {})
    expect(await triggered).toEqual([])
    await clock.advance(MINUTE)
    expect(receiver.requests).toEqual([])
  })

  it('an edit of another webhook changes nothing', async () => {
    const { service, clock, receiver } = await open()
    service.restore({
      ...service.snapshot(),
      webhooks: [
        ...service.snapshot().webhooks,
        seed(PLAIN, { id: 'other', name: 'other' } as Partial<Webhook>),
      ],
    })
    await clock.advance(49_999)
    expect(lengthsOf(receiver)).toEqual([])
    await clock.advance(1)
    expect(lengthsOf(receiver)).toEqual([2])
  })
})

describe('while a window is open', () => {
  it('restore() with another schedule applies the schedule immediately', async () => {
    const { service, clock, receiver, triggered } = await open()
    alter(service, { scheduleInfo: every(30, 'second') })
    await clock.advance(20_000)
    expect(await triggered).toMatchObject([{ sentAt: NOW + 30_000 }])
    expect(lengthsOf(receiver)).toEqual([2])
  })

  it('restore() without the webhook: nothing is sent, and trigger resolves immediately', async () => {
    const { service, receiver, triggered } = await open()
    service.restore({})
    expect(await triggered).toEqual([])
    expect(receiver.requests).toEqual([])
  })

  it('reset() drops gathered events, and trigger resolves immediately', async () => {
    const { service, clock, receiver, triggered } = await open()
    service.reset()
    expect(await triggered).toEqual([])
    const next = service.trigger(CREATED)
    await clock.advance(MINUTE)
    await next
    expect(lengthsOf(receiver)).toEqual([1])
  })

  it('close() sends gathered events immediately', async () => {
    const { service, receiver, triggered } = await open()
    await service.close()
    expect(lengthsOf(receiver)).toEqual([2])
    expect(await triggered).toMatchObject([{ sentAt: NOW + 10_000, answer: { status: 200 } }])
  })
})
