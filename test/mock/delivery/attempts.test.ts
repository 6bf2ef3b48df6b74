import { gunzipSync } from 'node:zlib'
import { parsePayload, verify } from 'geohook'
import type {
  Attempt,
  DeliverySettings,
  FaultName,
  MockServiceOptions,
  ProductOptions,
  Webhook,
} from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { base64Of, FORM_TYPE, JSON_TYPE, KEY } from '../../helpers/deliver.ts'
import { type Captured, create, pathOf, post, same, seed } from '../support.ts'
import { alter, answering, CREATED, createAt, NOW, PLAIN, receive, statusesOf } from './support.ts'

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

const RETRIES = ['as-sent', 'signed-again'] as const

describe('changes between two attempts', () => {
  const inTheGap = async (
    change: (service: Awaited<ReturnType<typeof answeredWith>>) => unknown,
    options: MockServiceOptions = {},
  ) => {
    const started = await answeredWith([500, 200], options)
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

  it.each(RETRIES)(
    'webhook deleted: no second attempt, and no failure, with retries: %s',
    async (retries) => {
      const { service, attempts } = await inTheGap(
        ({ service }) => post(service, `${pathOf(PLAIN)}/delete`, {}),
        { like: { retries } },
      )
      expect(statusesOf(attempts)).toEqual([500])
      expect(service.snapshot().failures).toEqual([])
    },
  )

  it.each(RETRIES)(
    'webhook deactivated: no second attempt, and no failure, with retries: %s',
    async (retries) => {
      const { service, attempts } = await inTheGap((started) => edit(started, { active: 'false' }), {
        like: { retries },
      })
      expect(statusesOf(attempts)).toEqual([500])
      expect(service.snapshot().failures).toEqual([])
    },
  )

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

describe('the option retries', () => {
  const NEW_KEY = 'parcels2027'

  interface Case extends ProductOptions {
    fault?: FaultName
    /** Statuses of the receiver. */
    statuses?: number[]
    /** Changes to the webhook before the first attempt. */
    before?: Partial<Webhook>
  }

  /** Triggers an event, and edits the webhook between the first attempt and the second. */
  async function editedInTheGap(
    edits: Partial<Webhook>,
    { fault, statuses = [500, 200], before, ...like }: Case = {},
  ) {
    const { service, clock, receiver } = await answeredWith(statuses, { like }, before)
    if (fault) service.faults.add({ fault })
    const triggered = service.trigger(CREATED)
    await clock.advance(2_000)
    await service.edit(PLAIN.id, edits)
    await clock.advance(HOUR)
    return { service, attempts: await triggered, requests: receiver.requests }
  }

  const isSignedWith = async (signatureKey: string, { headers, body }: Captured): Promise<boolean> =>
    (await verify({ body, signature: String(headers['x-service']), signatureKey })).ok

  const cases = [undefined, ...RETRIES].flatMap((retries) =>
    [
      { edited: 'nothing', hasNewKey: false, hasNewUrl: false },
      { edited: 'the key', hasNewKey: true, hasNewUrl: false },
      { edited: 'the URL', hasNewKey: false, hasNewUrl: true },
      { edited: 'the key and the URL', hasNewKey: true, hasNewUrl: true },
    ].map((edit) => ({ retries, ...edit })),
  )
  it.each(cases)('$retries, edit of $edited', async ({ retries, hasNewKey, hasNewUrl }) => {
    const elsewhere = await receive()
    const { attempts, requests } = await editedInTheGap(
      {
        ...(hasNewKey ? { signatureKey: NEW_KEY } : {}),
        ...(hasNewUrl ? { hookUrl: elsewhere.url } : {}),
      },
      { retries },
    )
    const isNew = retries === 'signed-again'
    expect([requests.length, elsewhere.requests.length]).toEqual(isNew && hasNewUrl ? [1, 1] : [2, 0])
    const [first, second] = [...requests, ...elsewhere.requests] as [Captured, Captured]
    expect(second.body.equals(first.body)).toBe(true)
    expect(await isSignedWith(KEY, first)).toBe(true)
    expect(await isSignedWith(NEW_KEY, second)).toBe(isNew && hasNewKey)
    expect(await isSignedWith(KEY, second)).toBe(!(isNew && hasNewKey))

    const [one, two] = attempts as [Attempt, Attempt]
    expect(statusesOf(attempts)).toEqual([500, 200])
    expect([two.deliveryId, two.number]).toEqual([one.deliveryId, 2])
    expect(two.hookUrl).toBe(isNew && hasNewUrl ? elsewhere.url : one.hookUrl)
    for (const [{ request }, { headers, body }] of [[one, first] as const, [two, second] as const]) {
      expect(headers).toMatchObject(request.headers)
      expect(body.equals(request.body)).toBe(true)
    }
  })

  it.each([
    [JSON_TYPE, FORM_TYPE],
    [FORM_TYPE, JSON_TYPE],
  ] as const)('signs the same payload with the edited content type: %s to %s', async (from, to) => {
    const { requests } = await editedInTheGap(
      { contentType: to },
      { retries: 'signed-again', before: { contentType: from } },
    )
    expect(requests.map(({ headers }) => headers['content-type'])).toEqual([from, to])
    const payloads = requests.map(({ body }, index) => {
      const parsed = parsePayload({ body, contentType: [from, to][index] as string })
      return parsed.ok && parsed.payload
    })
    expect(payloads[0]).toMatchObject({ serviceName: 'Parcels' })
    expect(payloads[1]).toEqual(payloads[0])
    for (const request of requests) expect(await isSignedWith(KEY, request)).toBe(true)
  })

  it('signs in the last field of a form if the content type becomes that of a form', async () => {
    const { requests } = await editedInTheGap(
      { contentType: FORM_TYPE, signatureKey: NEW_KEY },
      {
        retries: 'signed-again',
        signature: { signatureIn: 'field', encoding: 'base64', formPayload: 'plain' },
      },
    )
    const json = requests[0]?.body.toString() ?? ''
    const signature = encodeURIComponent(base64Of(json, NEW_KEY)).replace(/%../g, (code) =>
      code.toLowerCase(),
    )
    expect(requests[1]?.body.toString()).toBe(`payload=${json}&x-service=${signature}`)
  })

  it('sends the edited key itself in the dialect organization', async () => {
    const { requests } = await editedInTheGap(
      { signatureKey: NEW_KEY },
      { retries: 'signed-again', dialect: 'organization' },
    )
    expect(requests.map(({ headers }) => headers.secret)).toEqual([KEY, NEW_KEY])
  })

  it('does not send to an edited payload URL on a host that is not allowed', async () => {
    const { service, attempts } = await editedInTheGap(
      { hookUrl: 'http://10.0.0.1/' },
      { retries: 'signed-again' },
    )
    expect(attempts.map(({ hookUrl, error }) => [new URL(hookUrl).hostname, error])).toEqual([
      ['127.0.0.1', undefined],
      ['10.0.0.1', expect.stringContaining('allowHosts')],
    ])
    expect(service.snapshot().failures).toEqual([])
  })

  it('reads the webhook when a queued retry is sent', async () => {
    const answers: (() => void)[] = []
    const receiver = await receive((number, _req, res) => {
      const answer = (): unknown => res.writeHead(number === 1 ? 500 : 200).end()
      if (number === 2) answers.push(answer)
      else answer()
    })
    const { service } = createAt([seed(PLAIN, { hookUrl: receiver.url })], {
      concurrency: 1,
      settings: { notificationElapsedTimeInSeconds: 0 },
      like: { retries: 'signed-again' },
    })
    const retried = service.trigger(CREATED)
    const other = service.trigger(CREATED)
    await receiver.arrived(2)
    alter(service, { signatureKey: NEW_KEY })
    answers[0]?.()
    expect(statusesOf([...(await retried), ...(await other)])).toEqual([500, 200, 200])
    const signedAnew = receiver.requests.map((request) => isSignedWith(NEW_KEY, request))
    expect(await Promise.all(signedAnew)).toEqual([false, false, true])
  })

  /** What a fault does to a request, if it was signed with the new key before. */
  const CORRUPTED: [FaultName, (retry: Captured, intact: Buffer) => unknown][] = [
    [
      'wrong_key',
      async (retry, intact) => {
        expect(retry.body.equals(intact)).toBe(true)
        expect([await isSignedWith(KEY, retry), await isSignedWith(NEW_KEY, retry)]).toEqual([false, false])
      },
    ],
    ['unsigned', ({ headers }) => expect(headers).not.toHaveProperty('x-service')],
    [
      'altered',
      async (retry, intact) => {
        expect(retry.body.equals(intact)).toBe(false)
        expect(await isSignedWith(NEW_KEY, { ...retry, body: intact })).toBe(true)
      },
    ],
    [
      'truncated',
      async (retry, intact) => {
        expect(retry.body.equals(intact.subarray(0, intact.length >> 1))).toBe(true)
        expect(await isSignedWith(NEW_KEY, { ...retry, body: intact })).toBe(true)
      },
    ],
    [
      'wrong_content_type',
      async (retry) => {
        expect(retry.headers['content-type']).toBe('text/plain')
        expect(await isSignedWith(NEW_KEY, retry)).toBe(true)
      },
    ],
    [
      'gzip',
      async (retry) => {
        expect(retry.headers['content-encoding']).toBe('gzip')
        expect(await isSignedWith(NEW_KEY, { ...retry, body: gunzipSync(retry.body) })).toBe(true)
      },
    ],
  ]
  it.each(CORRUPTED)('a retry keeps the fault %s', async (fault, check) => {
    const edits = { signatureKey: NEW_KEY }
    const { attempts, requests } = await editedInTheGap(edits, { retries: 'signed-again', fault })
    expect(attempts.map((attempt) => attempt.fault)).toEqual([fault, fault])
    const intact = await editedInTheGap({})
    await check(requests[1]!, intact.requests[0]!.body)
  })

  it.each<[FaultName, statuses: number[], isSignedAnew: boolean[]]>([
    // The receiver does not record the attempt whose connection was dropped.
    ['connection_dropped', [200], [true]],
    ['answer_lost', [200], [false, true]],
    ['two_at_once', [500, 500, 200], [false, false, true]],
    ['duplicate', [500, 200], [false, true, true]],
  ])('only retries are signed anew, with the fault %s', async (fault, statuses, isSignedAnew) => {
    const { requests } = await editedInTheGap(
      { signatureKey: NEW_KEY },
      { retries: 'signed-again', fault, statuses },
    )
    const signed = requests.map(async (request) => [
      await isSignedWith(KEY, request),
      await isSignedWith(NEW_KEY, request),
    ])
    expect(await Promise.all(signed)).toEqual(isSignedAnew.map((isNew) => [!isNew, isNew]))
  })

  it('redeliver() sends each attempt byte for byte', async () => {
    const { service, attempts, requests } = await editedInTheGap(
      { signatureKey: NEW_KEY },
      { retries: 'signed-again' },
    )
    for (const { id } of attempts) await service.redeliver(id)
    expect(requests.slice(2)).toEqual(requests.slice(0, 2))
  })

  it('rejects any other value', () => {
    expect(() => create([], { like: { retries: 'never' as 'as-sent' } })).toThrow(
      expect.objectContaining({ code: 'config_invalid' }),
    )
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
