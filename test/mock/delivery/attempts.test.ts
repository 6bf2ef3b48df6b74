import type { Attempt, DeliverySettings, MockServiceOptions, Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { pathOf, post, same, seed } from '../support.ts'
import { answering, CREATED, createAt, NOW, PLAIN, receive, statusesOf } from './support.ts'

/** Starts a receiver that responds with these statuses, and a service with a manual clock that delivers to it. */
async function answeredWith(
  statuses: number[],
  options: MockServiceOptions = {},
  changes: Partial<Webhook> = {},
) {
  const receiver = await receive(answering(...statuses))
  return { receiver, ...createAt([seed(PLAIN, { hookUrl: receiver.url, ...changes })], options) }
}

const HOUR = 3_600_000

describe('number and times of attempts', () => {
  const cases: [string, number[], Partial<DeliverySettings>, number[]][] = [
    ['success at once', [200], {}, [0]],
    ['success on the second attempt', [500, 200], {}, [0, 5]],
    ['success on the third', [500, 503, 204], {}, [0, 5, 10]],
    ['three failures', [500, 401, 404, 200], {}, [0, 5, 10]],
    ['one attempt', [500, 200], { notificationAttempts: 1 }, [0]],
    [
      'five, an hour apart',
      [500],
      { notificationAttempts: 5, notificationElapsedTimeInSeconds: 3600 },
      [0, 3600, 7200, 10800, 14400],
    ],
    ['no gap', [500, 200], { notificationElapsedTimeInSeconds: 0 }, [0, 0]],
  ]
  it.each(cases)('%s: %j %j', async (_, statuses, settings, seconds) => {
    const { service, clock, receiver } = await answeredWith(statuses, { settings })
    const triggered = service.trigger(CREATED)
    await clock.advance(5 * HOUR)
    const attempts = await triggered
    expect(attempts.map(({ sentAt }) => (sentAt - NOW) / 1000)).toEqual(seconds)
    expect(attempts.map(({ number }) => number)).toEqual(seconds.map((_, index) => index + 1))
    expect(receiver.requests).toHaveLength(seconds.length)
    expect(service.deliveries).toEqual(attempts)
  })

  it('does not retry before the gap has passed', async () => {
    const { service, clock, receiver } = await answeredWith([500, 200])
    const triggered = service.trigger(CREATED)
    await clock.advance(4_999)
    expect(receiver.requests).toHaveLength(1)
    await clock.advance(1)
    expect(receiver.requests).toHaveLength(2)
    expect(await triggered).toHaveLength(2)
  })

  it.each([200, 201, 202, 204, 206, 226, 299])('%i is a success', async (status) => {
    const { service } = await answeredWith([status])
    expect(statusesOf(await service.trigger(CREATED))).toEqual([status])
    expect(service.snapshot().failures).toEqual([])
  })

  it.each([300, 301, 302, 303, 304, 307, 308, 400, 404, 410, 429, 500])(
    '%i is not a success, and redirects are not followed',
    async (status) => {
      const elsewhere = await receive()
      const receiver = await receive((_number, _req, res) =>
        res.writeHead(status, { location: elsewhere.url }).end(),
      )
      const { service, clock } = createAt([seed(PLAIN, { hookUrl: receiver.url })])
      const triggered = service.trigger(CREATED)
      await clock.advance(HOUR)
      expect(statusesOf(await triggered)).toEqual([status, status, status])
      expect(elsewhere.requests).toEqual([])
      expect(service.snapshot().failures).toEqual([{ webhookId: PLAIN.id, times: [NOW + 10_000] }])
    },
  )

  it.each(['application/json', 'application/x-www-form-urlencoded'] as const)(
    'all attempts carry the same bytes, the same signature and the same deliveryId: %s',
    async (contentType) => {
      const { service, clock, receiver } = await answeredWith([500, 500, 200], {}, { contentType })
      const triggered = service.trigger(CREATED)
      await clock.advance(HOUR)
      const attempts = await triggered
      expect(new Set(attempts.map(({ deliveryId }) => deliveryId)).size).toBe(1)
      expect(new Set(attempts.map(({ id }) => id)).size).toBe(3)
      const [first, ...others] = receiver.requests
      expect(others).toHaveLength(2)
      for (const { headers, body } of others) {
        expect(body.equals(first!.body)).toBe(true)
        expect(headers).toEqual(first!.headers)
      }
    },
  )

  it('two deliveries have different ids, and neither waits for the other', async () => {
    const { service, clock } = await answeredWith([500, 200, 200])
    const failing = service.trigger(CREATED)
    await clock.advance(1_000)
    const [second] = await service.trigger(CREATED)
    await clock.advance(HOUR)
    const attempts = await failing
    expect(statusesOf([...attempts, second as Attempt])).toEqual([500, 200, 200])
    expect(second?.deliveryId).not.toBe(attempts[0]?.deliveryId)
  })

  it('retries after the timeout if the receiver never responds', async () => {
    const receiver = await receive((number, _req, res) => void (number === 1 ? undefined : res.end()))
    const settings = { notificationTimeOutInSeconds: 3, notificationElapsedTimeInSeconds: 0 }
    const { service } = createAt([seed(PLAIN, { hookUrl: receiver.url })], { settings })
    const attempts = await service.trigger(CREATED)
    expect(attempts.map(({ error }) => error)).toEqual(['no response within 3 s', undefined])
    expect(attempts[0]?.milliseconds).toBeGreaterThanOrEqual(2_990)
  })
})

describe('version 11.1', () => {
  it('makes one attempt regardless of the settings, and never deactivates a webhook', async () => {
    const { service, clock, receiver } = await answeredWith([500], {
      version: '11.1',
      settings: { notificationAttempts: 5, numberOfFailures: 1 },
    })
    for (let count = 0; count < 3; count++) {
      const triggered = service.trigger(CREATED)
      await clock.advance(HOUR)
      expect(await triggered).toHaveLength(1)
    }
    expect(receiver.requests).toHaveLength(3)
    expect(service.snapshot()).toMatchObject({ webhooks: [{ active: true }], failures: [] })
  })
})

describe('changes between two attempts', () => {
  const inTheGap = async (change: (service: Awaited<ReturnType<typeof answeredWith>>) => unknown) => {
    const started = await answeredWith([500, 200])
    await started.service.listen()
    const triggered = started.service.trigger(CREATED)
    await started.clock.advance(2_000)
    await change(started)
    await started.clock.advance(HOUR)
    return { ...started, attempts: await triggered }
  }
  const edit = async (
    { service }: { service: Awaited<ReturnType<typeof answeredWith>>['service'] },
    changes: object,
  ) => post(service, `${pathOf(PLAIN)}/edit`, { ...same(service.snapshot().webhooks[0]!), ...changes })

  it('webhook deleted: no second attempt, and no failure', async () => {
    const { service, attempts } = await inTheGap(({ service }) =>
      post(service, `${pathOf(PLAIN)}/delete`, {}),
    )
    expect(statusesOf(attempts)).toEqual([500])
    expect(service.snapshot().failures).toEqual([])
  })

  it('webhook deactivated: no second attempt, and no failure', async () => {
    const { service, attempts } = await inTheGap((started) => edit(started, { active: 'false' }))
    expect(statusesOf(attempts)).toEqual([500])
    expect(service.snapshot().failures).toEqual([])
  })

  it('webhook deactivated and activated again: a second attempt', async () => {
    const { attempts } = await inTheGap(async (started) => {
      await edit(started, { active: 'false' })
      await edit(started, { active: 'true' })
    })
    expect(statusesOf(attempts)).toEqual([500, 200])
  })

  it('payload URL and key edited: the second attempt equals the first', async () => {
    const elsewhere = await receive()
    const { attempts, receiver } = await inTheGap((started) =>
      edit(started, { hookUrl: elsewhere.url, signatureKey: 'other', changeTypes: 'PostPerformed' }),
    )
    expect(attempts.map(({ hookUrl }) => hookUrl)).toEqual([receiver.url, receiver.url])
    expect(elsewhere.requests).toEqual([])
    expect(receiver.requests[1]?.headers).toEqual(receiver.requests[0]?.headers)
  })

  it('settings changed: the new number of attempts and the new gap apply to the remaining attempts', async () => {
    const { service, clock } = await answeredWith([500])
    const triggered = service.trigger(CREATED)
    await clock.advance(2_000)
    const settings = { notificationAttempts: 4, notificationElapsedTimeInSeconds: 60 }
    service.restore({ ...service.snapshot(), settings })
    await clock.advance(HOUR)
    expect((await triggered).map(({ sentAt }) => (sentAt - NOW) / 1000)).toEqual([0, 5, 65, 125])
  })

  it('settings changed: the new timeout applies to the next attempt', async () => {
    const receiver = await receive(
      (number, _req, res) => void (number === 1 ? res.writeHead(500).end() : undefined),
    )
    const { service, clock } = createAt([seed(PLAIN, { hookUrl: receiver.url })], {
      settings: { notificationAttempts: 2 },
    })
    const triggered = service.trigger(CREATED)
    await clock.advance(1_000)
    service.restore({
      ...service.snapshot(),
      settings: { notificationAttempts: 2, notificationTimeOutInSeconds: 1 },
    })
    await clock.advance(HOUR)
    expect((await triggered).map(({ error }) => error)).toEqual([undefined, 'no response within 1 s'])
  })

  it('close(): no second attempt and no failure, and it does not wait for the clock', async () => {
    const { service, clock, receiver } = await answeredWith([500], { settings: { numberOfFailures: 1 } })
    const triggered = service.trigger(CREATED)
    await clock.advance(2_000)
    await service.close()
    expect(statusesOf(await triggered)).toEqual([500])
    expect(receiver.requests).toHaveLength(1)
    expect(service.snapshot()).toMatchObject({ webhooks: [{ active: true }], failures: [] })
  })

  it('reset(): no second attempt, no log entry and no failure, and it does not wait', async () => {
    const { service, clock, receiver } = await answeredWith([500], { settings: { numberOfFailures: 1 } })
    const triggered = service.trigger(CREATED)
    await clock.advance(2_000)
    service.reset()
    expect(statusesOf(await triggered)).toEqual([500])
    await clock.advance(HOUR)
    expect([receiver.requests.length, service.deliveries]).toEqual([1, []])
    expect(service.snapshot()).toMatchObject({ webhooks: [{ active: true }], failures: [] })
  })
})

it('an attempt in flight during reset() is neither retried nor counted', async () => {
  const answers: (() => void)[] = []
  const receiver = await receive((_number, _req, res) => void answers.push(() => res.writeHead(500).end()))
  const settings = { numberOfFailures: 1, notificationAttempts: 1 }
  const { service } = createAt([seed(PLAIN, { hookUrl: receiver.url })], { settings })
  const triggered = service.trigger(CREATED)
  await receiver.arrived(1)
  service.reset()
  answers[0]?.()
  expect(statusesOf(await triggered)).toEqual([500])
  expect(service.snapshot()).toMatchObject({ webhooks: [{ active: true }], failures: [] })
  expect(service.deliveries).toEqual([])
})
