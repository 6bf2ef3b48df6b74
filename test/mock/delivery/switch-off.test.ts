import type { MockServiceOptions, Notice, Snapshot, Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { warningsOf } from '../../helpers/warnings.ts'
import { seed } from '../support.ts'
import { answering, CREATED, createAt, NOW, named, PLAIN, receive } from './support.ts'

const DAY = 86_400_000
/** Settings without retries, so that a delivery fails after one attempt. */
const ONCE = { notificationAttempts: 1 }

/** Starts a service whose receiver responds with these statuses, and records the notices of the service. */
async function failing(statuses: number[], options: MockServiceOptions = {}, changes: Partial<Webhook> = {}) {
  const receiver = await receive(answering(...statuses))
  const started = createAt([seed(PLAIN, { hookUrl: receiver.url, ...changes })], {
    settings: ONCE,
    ...options,
  })
  const changed: string[] = []
  started.service.on((notice: Notice) => {
    if (notice.type === 'webhook') changed.push(`${notice.change} ${notice.webhookId}`)
  })
  const trigger = async (times = 1): Promise<void> => {
    for (let count = 0; count < times; count++) await started.service.trigger(CREATED)
  }
  const isActive = (): boolean | undefined => started.service.snapshot().webhooks[0]?.active
  return { ...started, receiver, changed, trigger, isActive }
}

describe('a webhook is deactivated', () => {
  it('after five failed deliveries by default, and then gets no deliveries', async () => {
    const { service, receiver, changed, trigger, isActive } = await failing([500])
    await trigger(4)
    expect([isActive(), changed]).toEqual([true, []])
    await trigger()
    expect([isActive(), changed]).toEqual([false, [`switched_off ${PLAIN.id}`]])
    expect(service.snapshot().failures).toEqual([{ webhookId: PLAIN.id, times: Array(5).fill(NOW) }])
    await trigger()
    expect(receiver.requests).toHaveLength(5)
  })

  it('after the configured number of failed deliveries, regardless of their attempts', async () => {
    const settings = { notificationAttempts: 5, notificationElapsedTimeInSeconds: 0, numberOfFailures: 2 }
    const { receiver, trigger, isActive } = await failing([500], { settings })
    await trigger()
    expect([receiver.requests.length, isActive()]).toEqual([5, true])
    await trigger()
    expect([receiver.requests.length, isActive()]).toEqual([10, false])
  })

  it('regardless of deliveries that succeed on a retry: they neither increase nor reset the count', async () => {
    const settings = { notificationAttempts: 2, notificationElapsedTimeInSeconds: 0, numberOfFailures: 2 }
    const { service, trigger, isActive } = await failing([500, 500, 500, 200, 500, 500], { settings })
    await trigger(2)
    expect([service.snapshot().failures[0]?.times.length, isActive()]).toEqual([1, true])
    await trigger()
    expect(isActive()).toBe(false)
  })

  it.each([
    ['a millisecond less than', 2 * DAY - 1, false],
    ['exactly', 2 * DAY, true],
    ['more than', 2 * DAY + 1, true],
  ])('unless failures are too old: %s daysInPast, still active: %3$s', async (_, age, staysActive) => {
    const settings = { ...ONCE, numberOfFailures: 3, daysInPast: 2 }
    const { clock, trigger, isActive } = await failing([500], { settings })
    await trigger()
    await clock.advance(age)
    await trigger(2)
    expect(isActive()).toBe(staysActive)
  })

  it('according to the current settings, even if they change while the service runs', async () => {
    const { service, trigger, isActive } = await failing([500])
    await trigger(3)
    service.restore({ ...service.snapshot(), settings: { ...ONCE, numberOfFailures: 2 } })
    expect(isActive(), 'not by the change itself').toBe(true)
    await trigger()
    expect(isActive()).toBe(false)
  })

  it('without affecting other webhooks', async () => {
    const [bad, good] = await Promise.all([receive(answering(500)), receive()])
    const settings = { ...ONCE, numberOfFailures: 1 }
    const webhooks = [...named(bad.url, { bad: {} }), ...named(good.url, { good: {} })]
    const { service } = createAt(webhooks, { settings })
    await service.trigger(CREATED)
    await service.trigger(CREATED)
    expect([bad.requests.length, good.requests.length]).toEqual([1, 2])
    expect(service.snapshot().failures).toEqual([{ webhookId: 'bad', times: [NOW] }])
  })

  it('and its pending retries are skipped', async () => {
    const settings = { notificationAttempts: 2, numberOfFailures: 1 }
    const { service, clock, receiver } = await failing([500], { settings })
    const first = service.trigger(CREATED)
    await clock.advance(3_000)
    const second = service.trigger(CREATED)
    await clock.advance(60_000)
    expect([(await first).length, (await second).length, receiver.requests.length]).toEqual([2, 1, 3])
    expect(service.snapshot().failures[0]?.times).toEqual([NOW + 5_000])
  })
})

describe('not counted as a failure', () => {
  it('a delivery to a host that is not allowed, which is attempted once', async () => {
    const { service, trigger, isActive } = await failing(
      [500],
      { settings: { numberOfFailures: 1 } },
      { hookUrl: 'http://10.0.0.1/hook' },
    )
    await trigger(3)
    expect(service.deliveries.map(({ number }) => number)).toEqual([1, 1, 1])
    expect([service.snapshot().failures, isActive()]).toEqual([[], true])
  })

  it('a delivery of a closed service', async () => {
    const { service, trigger, isActive } = await failing([500], {
      settings: { ...ONCE, numberOfFailures: 1 },
    })
    await service.close()
    await trigger(2)
    expect(service.deliveries.map(({ error }) => error)).toEqual(Array(2).fill('the mock service is closed'))
    expect([service.snapshot().failures, isActive()]).toEqual([[], true])
  })

  it('a redelivered attempt', async () => {
    const settings = { ...ONCE, numberOfFailures: 2 }
    const { service, trigger, isActive } = await failing([500], { settings })
    await trigger()
    await service.redeliver(service.deliveries[0]?.id ?? '')
    expect([service.snapshot().failures[0]?.times.length, isActive()]).toEqual([1, true])
  })
})

describe('hosted services', () => {
  it('deactivate a webhook after five consecutive failures: a success resets the count', async () => {
    const failures = Array(4).fill(500)
    const { service, trigger, isActive } = await failing([...failures, 200, ...failures, 500, 500], {
      like: { dialect: 'hosted' },
      settings: {},
    })
    await trigger(4)
    expect(service.snapshot().failures).toHaveLength(1)
    await trigger()
    expect(service.snapshot().failures).toEqual([])
    await trigger(4)
    expect(isActive()).toBe(true)
    await trigger()
    expect(isActive()).toBe(false)
    expect(service.snapshot().failures, 'the list is cleared at once').toEqual([])
  })

  it('make one attempt per delivery', async () => {
    const { service, trigger } = await failing([500], { like: { dialect: 'hosted' }, settings: {} })
    await trigger()
    expect(service.deliveries).toHaveLength(1)
  })
})

describe('the saved state contains', () => {
  it('a webhook that was deactivated', async () => {
    const saved: Snapshot[] = []
    const save = async (snapshot: Snapshot): Promise<void> => void saved.push(snapshot)
    const { service, trigger } = await failing([500], { settings: { ...ONCE, numberOfFailures: 2 }, save })
    await trigger()
    expect(saved.map(({ webhooks }) => webhooks[0]?.active)).not.toContain(false)
    await trigger()
    expect(saved.at(-1)).toEqual(service.snapshot())
    expect(saved.at(-1)?.webhooks).toMatchObject([{ active: false }])
  })

  it('each counted failure, and the reset of the count by a success', async () => {
    const counts: number[] = []
    const save = async ({ failures }: Snapshot): Promise<void> =>
      void counts.push(failures[0]?.times.length ?? 0)
    const { trigger } = await failing([500, 500, 200, 200], { like: { dialect: 'hosted' }, save })
    await trigger(4)
    expect(counts).toEqual([1, 2, 0])
  })

  it.each([
    ['an error', new Error('the disk is full'), 'the disk is full'],
    ['something else', undefined, 'undefined'],
  ])('or, if saving fails with %s, emits a warning and loses no delivery', async (_, thrown, message) => {
    const save = () => Promise.reject(thrown)
    const warnings = await warningsOf(async () => {
      const { service, trigger } = await failing([500], { settings: { ...ONCE, numberOfFailures: 1 }, save })
      await trigger()
      expect(service.deliveries).toHaveLength(1)
    })
    expect(warnings.join()).toContain(message)
  })
})
