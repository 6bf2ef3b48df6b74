import type { Attempt, MockServiceOptions, ProductOptions, ScheduleInfo, Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { create, JOB, seed } from '../support.ts'
import { CREATED, createAt, every, NOW, PLAIN, payloadOf, receive, type Waiting } from './support.ts'

type Frequency = ScheduleInfo['recurrenceInfo']['frequency']

const at = (text: string): number => Date.parse(`${text}Z`)

/** Triggers events at these times. Returns the time of each attempt, and the times of the events in each delivery. */
async function gathered(
  webhook: Partial<Webhook>,
  whens: readonly number[],
  options: MockServiceOptions = {},
): Promise<{ sentAt: number[]; events: number[][]; receiver: Waiting }> {
  const receiver = await receive()
  const [start = NOW] = whens
  const { service, clock } = createAt([seed(PLAIN, { hookUrl: receiver.url, ...webhook })], options, start)
  for (const when of whens) {
    await clock.advance(when - clock.now())
    service.trigger({ ...CREATED, serviceName: webhook.serviceName ?? 'Parcels' }).catch(() => {})
  }
  await clock.advance(6 * 366 * 86_400_000)
  return {
    sentAt: service.deliveries.map(({ sentAt }) => sentAt),
    events: receiver.requests.map((request) => payloadOf(request).events.map(({ when }) => when)),
    receiver,
  }
}

describe('a window closes a whole number of steps after startAt', () => {
  const cases: [startAt: string, interval: number, Frequency, event: string, closes: string][] = [
    ['2024-10-31T00:00:00.000', 20, 'second', '2024-10-31T00:00:00.001', '2024-10-31T00:00:20.000'],
    ['2024-10-31T00:00:00.000', 20, 'second', '2024-10-31T00:00:19.999', '2024-10-31T00:00:20.000'],
    ['2024-10-31T00:00:07.500', 1, 'second', '2024-10-31T11:00:00.000', '2024-10-31T11:00:00.500'],
    ['2024-10-31T00:00:00.000', 7, 'minute', '2024-10-31T00:08:00.000', '2024-10-31T00:14:00.000'],
    ['2024-10-31T00:30:00.000', 1, 'hour', '2024-10-31T05:00:00.000', '2024-10-31T05:30:00.000'],
    ['2024-10-31T00:30:00.000', 36, 'hour', '2024-11-01T13:00:00.000', '2024-11-03T00:30:00.000'],
    // During these two windows, daylight saving time ends and begins in Europe.
    ['2024-10-26T22:00:00.000', 1, 'day', '2024-10-27T12:00:00.000', '2024-10-27T22:00:00.000'],
    ['2024-03-30T23:00:00.000', 1, 'day', '2024-03-31T12:00:00.000', '2024-03-31T23:00:00.000'],
    ['2024-10-01T00:00:00.000', 2, 'week', '2024-10-20T00:00:00.000', '2024-10-29T00:00:00.000'],
    ['2023-01-31T10:00:00.000', 1, 'month', '2023-02-01T00:00:00.000', '2023-02-28T10:00:00.000'],
    ['2024-01-31T10:00:00.000', 1, 'month', '2024-02-01T00:00:00.000', '2024-02-29T10:00:00.000'],
    ['2023-01-31T10:00:00.000', 1, 'month', '2023-02-28T10:00:00.000', '2023-03-31T10:00:00.000'],
    ['2023-01-31T10:00:00.000', 1, 'month', '2023-02-28T09:59:59.999', '2023-02-28T10:00:00.000'],
    ['2023-01-31T10:00:00.000', 1, 'month', '2023-04-01T00:00:00.000', '2023-04-30T10:00:00.000'],
    ['2023-01-31T10:00:00.000', 3, 'month', '2023-12-31T00:00:00.000', '2024-01-31T10:00:00.000'],
    ['2023-12-31T00:00:00.000', 2, 'month', '2024-01-05T00:00:00.000', '2024-02-29T00:00:00.000'],
    ['2020-02-29T00:00:00.000', 1, 'year', '2022-03-01T00:00:00.000', '2023-02-28T00:00:00.000'],
    ['2020-02-29T00:00:00.000', 1, 'year', '2023-02-28T00:00:00.000', '2024-02-29T00:00:00.000'],
    ['2020-02-29T00:00:00.000', 4, 'year', '2024-02-28T23:59:59.999', '2024-02-29T00:00:00.000'],
    ['1970-01-01T00:00:00.000', 1, 'second', '2024-10-31T00:00:00.250', '2024-10-31T00:00:01.000'],
    // A window that opens before `startAt` closes at `startAt`.
    ['2024-11-05T00:00:00.000', 1, 'second', '2024-10-31T00:00:00.000', '2024-11-05T00:00:00.000'],
    ['2024-10-31T00:00:00.001', 1, 'year', '2024-10-31T00:00:00.000', '2024-10-31T00:00:00.001'],
    ['2024-10-31T00:00:00.000', 1, 'day', '2024-10-31T00:00:00.000', '2024-11-01T00:00:00.000'],
  ]
  it.each(cases)(
    'from %s every %i %s: an event at %s is sent at %s',
    async (start, interval, frequency, event, closes) => {
      const scheduleInfo = every(interval, frequency, { startAt: at(start) })
      const { sentAt, events } = await gathered({ scheduleInfo }, [at(event)])
      expect(sentAt.map((time) => new Date(time).toISOString())).toEqual([`${closes}Z`])
      expect(events, 'with the time at which it happened').toEqual([[at(event)]])
    },
  )

  it('close() closes a window that would never close', async () => {
    const { url, requests } = await receive()
    const scheduleInfo = every(1_000_000, 'year')
    const { service, clock } = createAt([seed(PLAIN, { hookUrl: url, scheduleInfo })])
    const triggered = service.trigger(CREATED)
    await clock.advance(100 * 366 * 86_400_000)
    expect(requests).toHaveLength(0)
    await service.close()
    expect(await triggered).toMatchObject([{ answer: { status: 200 } }])
  })
})

describe('events are gathered', () => {
  const scheduleInfo = every(20, 'second')

  it('in one delivery per window, in the order of arrival', async () => {
    const times = [0, 1, 1, 19_999, 20_000, 39_999, 40_000, 3_600_001].map((time) => NOW + time)
    const { sentAt, events } = await gathered({ scheduleInfo }, times)
    expect(sentAt.map((time) => time - NOW)).toEqual([20_000, 40_000, 60_000, 3_620_000])
    expect(events.map((whens) => whens.map((when) => when - NOW))).toEqual([
      [0, 1, 1, 19_999],
      [20_000, 39_999],
      [40_000],
      [3_600_001],
    ])
  })

  it('with their given times, but in the order of arrival', async () => {
    const { url, requests } = await receive()
    const { service, clock } = createAt([seed(PLAIN, { hookUrl: url, scheduleInfo })])
    const whens = [NOW + 3, NOW - 86_400_000, NOW + 86_400_000]
    const triggered = whens.map((when) => service.trigger({ ...CREATED, when }))
    await clock.advance(20_000)
    expect(payloadOf(requests[0]!).events.map(({ when }) => when)).toEqual(whens)
    const all = await Promise.all(triggered)
    expect(new Set(all.flat().map(({ id }) => id)).size, 'all three know of the one attempt').toBe(1)
  })

  it('by each webhook over its own window', async () => {
    const receivers = await Promise.all([receive(), receive(), receive()])
    const schedules = [every(1, 'minute'), every(90, 'second'), {}] as const
    const webhooks = schedules.map((scheduleInfo, index) =>
      seed(PLAIN, { id: `w${index}`, name: `w${index}`, hookUrl: receivers[index]!.url, scheduleInfo }),
    )
    const { service, clock } = createAt(webhooks)
    const triggered = [service.trigger(CREATED)]
    await clock.advance(59_999)
    triggered.push(service.trigger(CREATED))
    await clock.advance(1)
    triggered.push(service.trigger(CREATED))
    await clock.advance(60_000)
    await Promise.all(triggered)
    const sizes = receivers.map(({ requests }) => requests.map((request) => payloadOf(request).events.length))
    expect(sizes).toEqual([[2, 1], [3], [1, 1, 1]])
  })

  it('in the next window if they are triggered when a window closes', async () => {
    const second = await receive()
    // Both windows close at the same time. The first webhook's receiver triggers another event before it responds.
    const first = await receive((number, _req, res) => {
      if (number === 1) more.push(service.trigger({ ...CREATED, changeType: 'FeaturesDeleted' }))
      res.end()
    })
    const more: Promise<unknown>[] = []
    const { service, clock } = createAt([
      seed(PLAIN, { id: 'a', name: 'a', hookUrl: first.url, scheduleInfo }),
      seed(PLAIN, { id: 'b', name: 'b', hookUrl: second.url, scheduleInfo }),
    ])
    more.push(service.trigger(CREATED))
    await clock.advance(60_000)
    await Promise.all(more)
    const namesOf = ({ requests }: Waiting) =>
      requests.map((request) => payloadOf(request).events.map(({ eventType }) => eventType))
    expect(namesOf(first)).toEqual([['FeaturesCreated'], ['FeaturesDeleted']])
    expect(namesOf(second)).toEqual(namesOf(first))
  })

  it('with the system clock as well', async () => {
    const { url, requests } = await receive()
    const scheduleInfo = every(1, 'second', { startAt: Date.now() - 800 })
    const service = create([seed(PLAIN, { hookUrl: url, scheduleInfo })], {
      like: { window: { webhooks: 'scheduled' } },
    })
    const triggered = [service.trigger(CREATED), service.trigger(CREATED)]
    const [[attempt]] = (await Promise.all(triggered)) as [[Attempt]]
    expect(attempt.sentAt).toBeGreaterThanOrEqual(scheduleInfo.startAt + 1_000)
    expect(payloadOf(requests[0]!).events).toHaveLength(2)
  })

  it('up to ten thousand, after which the window closes early', async () => {
    const { url, requests } = await receive()
    const { service, clock } = createAt([seed(PLAIN, { hookUrl: url, scheduleInfo: every(1, 'hour') })])
    const thousand = Array.from({ length: 1000 }, () => CREATED)
    const triggered = Array.from({ length: 10 }, () => service.trigger(thousand))
    await Promise.all(triggered)
    expect(requests.map((request) => payloadOf(request).events.length)).toEqual([10_000])
    const last = service.trigger(CREATED)
    await clock.advance(3_600_000)
    expect(await last).toHaveLength(1)
    expect(requests).toHaveLength(2)
  })
})

describe('which webhooks gather', () => {
  const own = { scheduleInfo: every(1, 'hour') }
  const cases: [string, Partial<Webhook>, ProductOptions['window'], number][] = [
    ['with a schedule of its own, by default', own, undefined, 3_600_000],
    ['with a schedule of its own', own, { webhooks: 'scheduled' }, 3_600_000],
    ['with a schedule of its own', own, { webhooks: 'all' }, 3_600_000],
    ['with a schedule of its own', own, false, 0],
    ['without, by default', {}, undefined, 0],
    ['without', {}, { webhooks: 'scheduled' }, 0],
    ['without', {}, { webhooks: 'all' }, 20_000],
    ['without', {}, { webhooks: 'all', length: 45_000 }, 45_000],
    ['without', {}, false, 0],
  ]
  it.each(cases)('a feature service webhook %s: %j, window: %j', async (_, webhook, window, after) => {
    const like = window === undefined ? {} : { window }
    const { sentAt } = await gathered({ ...webhook, created: NOW }, [NOW], { like })
    expect(sentAt).toEqual([NOW + after])
  })

  it("the default schedule counts from the webhook's creation", async () => {
    const { sentAt } = await gathered({ created: NOW - 7_000 }, [NOW], {
      like: { window: { webhooks: 'all' } },
    })
    expect(sentAt).toEqual([NOW + 13_000])
  })

  it.each([false, { webhooks: 'scheduled' }, { webhooks: 'all' }] as const)(
    'a geoprocessing webhook never gathers events, even with the window %j',
    async (window) => {
      const { url, requests } = await receive()
      const { service } = createAt([seed(JOB, { hookUrl: url })], { like: { window } })
      const [attempt] = await service.trigger({ serviceName: 'Buffer', changeType: 'esriJobSucceeded' })
      expect([attempt?.sentAt, requests.length]).toEqual([NOW, 1])
    },
  )

  it.each(['scheduled', 'all'] as const)(
    'a webhook with a disabled schedule gets no deliveries with a window for %s webhooks',
    async (webhooks) => {
      const scheduleInfo = every(1, 'second', { state: 'disabled' })
      const { sentAt, receiver } = await gathered({ scheduleInfo }, [NOW], { like: { window: { webhooks } } })
      expect([sentAt, receiver.requests]).toEqual([[], []])
    },
  )
})
