import { createManualClock, createMockService, type MockService, type Webhook } from 'geohook/mock'
import { describe, expect, it, onTestFinished } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import { FEATURE, pathOf, post, same, start } from '../support.ts'
import {
  arcgisReceiver,
  handshaker,
  hear,
  methodsOf,
  OTHER_ID,
  rightAnswer,
  toHook,
} from './handshake-support.ts'
import { CREATED, createAt, every, NOW, statusesOf } from './support.ts'

const MINUTE = 60_000
const PARCELS = { serviceName: 'Parcels', serviceType: 'FeatureServer' } as const
const HOSTED = { like: { dialect: 'hosted', handshake: 10 * MINUTE } } as const

/** A receiver whose handshakes can be made to fail. */
async function switchable() {
  const state = { status: 200 }
  const { url, requests } = await handshaker(
    ({ url }, res) => void res.writeHead(state.status).end(rightAnswer(url)),
  )
  return { url, requests, state }
}

/** A receiver whose answers to handshakes wait until they are released, in order. */
async function gated() {
  const gates: ReturnType<typeof createGate>[] = []
  const { url, requests } = await handshaker(async ({ url }, res) => {
    const gate = createGate()
    gates.push(gate)
    await gate.gate
    res.end(rightAnswer(url))
  })
  const arrived = async (count: number): Promise<void> => {
    while (requests.length < count) await new Promise((resolve) => setImmediate(resolve))
  }
  return { url, requests, arrived, release: () => gates.shift()?.release() }
}

const edit = (service: MockService, webhook: Webhook, changes: Record<string, string>) =>
  post(service, `${pathOf(webhook)}/edit`, { ...same(webhook), ...changes, f: 'json' })

describe('handshakes by the clock', () => {
  it('are repeated every n minutes from the first, while the webhook is active', async () => {
    const { url, requests } = await switchable()
    const { service, clock } = createAt([toHook(url)], { like: { handshake: 10 * MINUTE } })
    const { notices } = hear(service)
    await clock.advance(60 * MINUTE)
    expect(methodsOf(requests)).toBe('')
    await service.trigger(CREATED)
    await clock.advance(10 * MINUTE - 1)
    expect(methodsOf(requests)).toBe('GET POST')
    await clock.advance(1)
    expect(methodsOf(requests)).toBe('GET POST GET')
    await clock.advance(30 * MINUTE)
    expect(notices).toEqual(Array(5).fill('ok'))
    service.restore({ ...service.snapshot(), webhooks: [toHook(url, { active: false })] })
    await clock.advance(60 * MINUTE)
    expect(notices.length).toBe(5)
  })

  it('are repeated every 60 minutes by default', async () => {
    const { url, requests } = await switchable()
    const { service, clock } = createAt([toHook(url)], { like: { handshake: true } })
    await service.trigger(CREATED)
    await clock.advance(60 * MINUTE - 1)
    expect(methodsOf(requests)).toBe('GET POST')
    await clock.advance(1)
    expect(methodsOf(requests)).toBe('GET POST GET')
  })

  it('stop the deliveries when one fails, and start them again when a later one succeeds', async () => {
    const { url, requests, state } = await switchable()
    const { service, clock } = createAt([toHook(url)], { like: { handshake: 10 * MINUTE } })
    const { notices } = hear(service)
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    state.status = 500
    await clock.advance(10 * MINUTE)
    expect(await service.trigger(CREATED)).toEqual([])
    expect(await service.trigger([CREATED, CREATED])).toEqual([])
    const { reason, notSent, when } = service.snapshot().handshakes[0] ?? {}
    expect([reason, notSent, when]).toEqual(['status 500', 3, NOW + 10 * MINUTE])
    await clock.advance(10 * MINUTE)
    expect(service.snapshot().handshakes).toMatchObject([{ reason: 'status 500', notSent: 3 }])
    state.status = 200
    await clock.advance(10 * MINUTE)
    expect(service.snapshot().handshakes).toEqual([{ webhookId: FEATURE.id, when: NOW + 30 * MINUTE }])
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect(notices).toEqual([
      'ok',
      'failed: status 500',
      '1 not sent: status 500',
      '2 not sent: status 500',
      'failed: status 500',
      'ok',
    ])
    expect(methodsOf(requests)).toBe('GET POST GET GET GET POST')
  })

  it('do not hold up deliveries while a handshake is repeated', async () => {
    const { url, requests, arrived, release } = await gated()
    const { service, clock } = createAt([toHook(url)], { like: { handshake: 10 * MINUTE } })
    const first = service.trigger(CREATED)
    await arrived(1)
    release()
    await first
    const advanced = clock.advance(10 * MINUTE)
    await arrived(3)
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    release()
    await advanced
    expect(methodsOf(requests)).toBe('GET POST GET POST')
  })

  it('cancel the retries of a webhook when one fails', async () => {
    let handshakes = 0
    const { url, requests } = await handshaker(({ url }, res) => {
      handshakes += 1
      res.writeHead(handshakes === 1 ? 200 : 403).end(rightAnswer(url))
    })
    const { service, clock } = createAt([toHook(url)], {
      like: { handshake: 10 * MINUTE },
      settings: { notificationAttempts: 5, notificationElapsedTimeInSeconds: 360 },
    })
    service.faults.add({ fault: 'answer_lost', times: 1 })
    service.faults.add({ fault: 'delayed', times: 1, delay: 15 * MINUTE })
    const { notices } = hear(service)
    const attempts = [service.trigger(CREATED), service.trigger(CREATED)]
    await clock.advance(60 * MINUTE)
    // The first delivery is sent once more, after 6 minutes; the second one is held back past the failure.
    expect((await Promise.all(attempts)).map((list) => list.length)).toEqual([2, 0])
    expect(methodsOf(requests).startsWith('GET POST POST GET')).toBe(true)
    expect(notices.slice(0, 3)).toEqual(['ok', 'failed: status 403', '1 not sent: status 403'])
  })
})

describe('a first handshake', () => {
  it('is in flight when a webhook is created, and deliveries wait for it', async () => {
    const { url, requests, arrived, release } = await gated()
    const service = await start([], { like: { handshake: true }, services: [PARCELS] })
    await post(service, '/services/Parcels.FeatureServer/webhooks/create', {
      name: 'new',
      hookUrl: url,
      signatureKey: KEY,
      f: 'json',
    })
    await arrived(1)
    const attempts = [service.trigger(CREATED), service.trigger(CREATED)]
    expect(service.deliveries).toEqual([])
    release()
    expect((await Promise.all(attempts)).flatMap(statusesOf)).toEqual([200, 200])
    expect(methodsOf(requests)).toBe('GET POST POST')
  })

  it('does not delay or change the response to create, even if it fails', async () => {
    const { url } = await handshaker((_, res) => void res.writeHead(500).end())
    const service = await start([], { like: { handshake: true }, services: [PARCELS] })
    const { notices, heard } = hear(service)
    const values = { name: 'new', hookUrl: url, signatureKey: KEY, f: 'json' }
    const { status, body } = await post(service, '/services/Parcels.FeatureServer/webhooks/create', values)
    expect([status, body.active]).toEqual([200, true])
    await heard(1)
    expect(notices).toEqual(['new: failed: status 500'])
  })

  it('is awaited by the events of a window, which follow the webhook as it is by then', async () => {
    const { url, requests, arrived, release } = await gated()
    const webhook = toHook(url, { changeTypes: ['*'], scheduleInfo: every(20, 'second') })
    const { service, clock } = createAt([webhook], { like: { handshake: true } })
    const attempts = service.trigger([CREATED, { ...CREATED, changeType: 'FeaturesDeleted' }])
    const advanced = clock.advance(20_000)
    await arrived(1)
    service.restore({ ...service.snapshot(), webhooks: [{ ...webhook, changeTypes: ['FeaturesDeleted'] }] })
    release()
    await arrived(2)
    release()
    await advanced
    expect(statusesOf(await attempts)).toEqual([200])
    expect(requests.at(-1)?.body.toString()).toMatch(/FeaturesDeleted/)
    expect(requests.at(-1)?.body.toString()).not.toMatch(/FeaturesCreated/)
  })

  it('uses no more than the slots of concurrency, and every delivery is sent', async () => {
    let atOnce = 0
    let most = 0
    const { url, requests } = await handshaker(async ({ url }, res) => {
      most = Math.max(most, ++atOnce)
      await new Promise((resolve) => setTimeout(resolve, 5)) // others would arrive meanwhile
      atOnce--
      res.end(rightAnswer(url))
    })
    const webhooks = Array.from({ length: 20 }, (_, n) => toHook(url, { id: `w${n}`, name: `w${n}` }))
    const { service } = createAt(webhooks, { like: { handshake: true }, concurrency: 1 })
    expect(statusesOf(await service.trigger(CREATED))).toEqual(Array(20).fill(200))
    expect([requests.length, most]).toEqual([40, 1])
  })
})

describe('an edit', () => {
  it.each<[string, (fresh: string) => Record<string, string>]>([
    ['of the URL', (fresh) => ({ hookUrl: fresh })],
    ['of the key', () => ({ signatureKey: 'a new key' })],
  ])('%s starts a handshake, for which deliveries wait', async (_what, toChanges) => {
    const receiver = await arcgisReceiver({ signatureKey: KEY })
    const renewed = await arcgisReceiver({ signatureKey: ['a new key', KEY] })
    const webhook = toHook(receiver.url)
    const service = await start([webhook], HOSTED)
    const { notices, heard } = hear(service)
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    await edit(service, webhook, toChanges(renewed.url))
    const attempts = await service.trigger(CREATED)
    await heard(2)
    // Each receiver answers with its newest key, which is not the key of the webhook.
    expect(attempts).toEqual([])
    expect(notices[1]).toBe('failed: the signature is wrong')
    await edit(service, webhook, { hookUrl: renewed.url, signatureKey: 'a new key' })
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect(notices.at(-1)).toBe('ok')
    expect(renewed.handled).toEqual(['FeaturesCreated'])
  })

  it('of anything else starts none, unless the last one failed', async () => {
    const { url, requests, state } = await switchable()
    const webhook = toHook(url)
    const service = await start([webhook], { like: { handshake: true } })
    const { notices, heard } = hear(service)
    await service.trigger(CREATED)
    await edit(service, webhook, { name: 'renamed' })
    await service.trigger(CREATED)
    expect(methodsOf(requests)).toBe('GET POST POST')
    state.status = 500
    await edit(service, webhook, { name: 'renamed', signatureKey: 'other' })
    await heard(2)
    state.status = 200
    await edit(service, webhook, { name: 'renamed', signatureKey: KEY })
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect(notices).toEqual(['ok', 'failed: status 500', 'ok'])
  })

  it('that changes the URL while a handshake is in flight: only the new one counts', async () => {
    const first = await gated()
    const second = await handshaker((_, res) => void res.writeHead(404).end())
    const webhook = toHook(first.url)
    const service = await start([webhook], { like: { handshake: true } })
    const { notices } = hear(service)
    const attempts = service.trigger(CREATED)
    await first.arrived(1)
    await edit(service, webhook, { hookUrl: second.url })
    first.release()
    expect(await attempts).toEqual([])
    expect(notices).toEqual(['failed: status 404', '1 not sent: status 404'])
    expect(service.snapshot().handshakes.length).toBe(1)
  })

  it('that removes the key ends the handshakes, and one that sets a key starts them', async () => {
    const { url, requests } = await switchable()
    const webhook = toHook(url)
    const { service, clock } = createAt([webhook], {
      like: { handshake: 10 * MINUTE, omitted: 'reset' },
    })
    await service.listen()
    await service.trigger(CREATED)
    await edit(service, webhook, {})
    await clock.advance(60 * MINUTE)
    await service.trigger(CREATED)
    expect(methodsOf(requests)).toBe('GET POST POST')
    expect(service.snapshot().handshakes).toEqual([])
    const { heard } = hear(service)
    await edit(service, webhook, { signatureKey: KEY })
    await heard(1)
    expect(methodsOf(requests)).toBe('GET POST POST GET')
  })

  it('that deletes the webhook ends its handshakes and drops waiting deliveries', async () => {
    const { url, requests, arrived, release } = await gated()
    const webhook = toHook(url)
    const { service, clock } = createAt([webhook], { like: { handshake: 10 * MINUTE } })
    await service.listen()
    const { notices } = hear(service)
    const attempts = service.trigger(CREATED)
    await arrived(1)
    await post(service, `${pathOf(webhook)}/delete`, { f: 'json' })
    release()
    expect(await attempts).toEqual([])
    await clock.advance(60 * MINUTE)
    expect([methodsOf(requests), notices]).toEqual(['GET', []])
    expect(service.snapshot().handshakes).toEqual([])
  })
})

describe('a webhook whose handshake failed', () => {
  const activate: [string, (service: MockService, webhook: Webhook) => Promise<unknown>][] = [
    ['an edit with active=true', (service, webhook) => edit(service, webhook, { active: 'true' })],
    [
      'activateAll',
      (service) => post(service, '/services/Parcels.FeatureServer/webhooks/activateAll', { f: 'json' }),
    ],
    [
      'deactivateAll and activateAll',
      async (service) => {
        await post(service, '/services/Parcels.FeatureServer/webhooks/deactivateAll', { f: 'json' })
        await post(service, '/services/Parcels.FeatureServer/webhooks/activateAll', { f: 'json' })
      },
    ],
  ]
  it.each(activate)('recovers after %s', async (_what, act) => {
    const { url, state } = await switchable()
    const webhook = toHook(url)
    const service = await start([webhook], { like: { handshake: true } })
    const { notices, heard } = hear(service)
    state.status = 500
    await service.trigger(CREATED)
    state.status = 200
    await act(service, webhook)
    await heard(3)
    expect(notices).toEqual(['failed: status 500', '1 not sent: status 500', 'ok'])
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
  })

  it('can redeliver a recorded attempt', async () => {
    const { url, state } = await switchable()
    const { service, clock } = createAt([toHook(url)], { like: { handshake: 10 * MINUTE } })
    const [attempt] = await service.trigger(CREATED)
    state.status = 500
    await clock.advance(10 * MINUTE)
    expect((await service.redeliver(attempt?.id ?? '')).answer?.status).toBe(200)
  })

  it('is in the response of a trigger over HTTP, and in the stream of events', async () => {
    const { url } = await handshaker((_, res) => void res.writeHead(405).end())
    const fine = await switchable()
    const service = await start([toHook(url), toHook(fine.url, { id: OTHER_ID, name: 'fine' })], {
      like: { handshake: true },
    })
    const stream = await fetch(`${service.url}/_mock/events`)
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    const response = await fetch(`${service.url}/_mock/trigger`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(CREATED),
    })
    expect(await response.json()).toEqual({
      deliveries: [expect.objectContaining({ webhookId: OTHER_ID })],
      notSent: [{ webhookId: FEATURE.id, reason: 'status 405' }],
    })
    let text = ''
    while (!text.includes('event: not_sent') || !text.includes('event: attempt'))
      text += (await reader.read()).value ?? ''
    await reader.cancel()
    const about = { webhookId: FEATURE.id, name: FEATURE.name, service: 'Parcels.FeatureServer' }
    expect(text).toContain(
      `event: handshake\ndata: ${JSON.stringify({ ...about, ok: false, reason: 'status 405' })}`,
    )
    expect(text).toContain(
      `event: not_sent\ndata: ${JSON.stringify({ ...about, events: 1, reason: 'status 405' })}`,
    )
  })

  it('never shows the key', async () => {
    const secret = 'an-unusual-key-3141'
    const { url } = await handshaker(({ url }, res) => void res.end(rightAnswer(url, `${secret}x`)))
    const service = await start([toHook(url, { signatureKey: secret })], { like: { handshake: true } })
    const seen: unknown[] = []
    service.on((notice) => void seen.push(notice))
    await service.trigger(CREATED)
    expect(seen.length).toBe(2)
    expect(JSON.stringify([seen, service.snapshot().handshakes])).not.toContain(secret)
  })
})

describe('restore, reset and close', () => {
  it('a restored failure stops deliveries until the time of the next handshake', async () => {
    const { url, requests, state } = await switchable()
    const before = createAt([toHook(url)], { like: { handshake: 10 * MINUTE } })
    state.status = 500
    await before.service.trigger(CREATED)
    state.status = 200
    const snapshot = JSON.parse(JSON.stringify(before.service.snapshot()))
    const { service, clock } = createAt([], { like: { handshake: 10 * MINUTE } }, NOW + 4 * MINUTE)
    service.restore(snapshot)
    expect(service.snapshot()).toEqual(snapshot)
    expect(await service.trigger(CREATED)).toEqual([])
    await clock.advance(6 * MINUTE - 1)
    expect(methodsOf(requests)).toBe('GET')
    await clock.advance(1)
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect(methodsOf(requests)).toBe('GET GET POST')
  })

  it('a restored failure that is overdue is repeated at once', async () => {
    const { url, requests } = await switchable()
    const { service, clock } = createAt([], { like: { handshake: 10 * MINUTE } })
    const failed = { webhookId: FEATURE.id, when: NOW - 11 * MINUTE, reason: 'status 500', notSent: 2 }
    const { notices, heard } = hear(service)
    service.restore({ webhooks: [toHook(url)], handshakes: [failed] })
    await heard(1)
    expect([notices, methodsOf(requests)]).toEqual([['ok'], 'GET'])
    await clock.advance(10 * MINUTE)
    expect(methodsOf(requests)).toBe('GET GET')
  })

  it('a restored time in the future does not delay the next handshake', async () => {
    const { url, requests } = await switchable()
    const { service, clock } = createAt([], { like: { handshake: 10 * MINUTE } })
    service.restore({ webhooks: [toHook(url)], handshakes: [{ webhookId: FEATURE.id, when: NOW * 2 }] })
    await clock.advance(10 * MINUTE)
    expect(methodsOf(requests)).toBe('GET')
  })

  it.each<[string, object]>([
    ['an empty reason', { when: NOW, reason: '' }],
    ['a long reason', { when: NOW, reason: 'x'.repeat(257) }],
    ['a negative count', { when: NOW, notSent: -1 }],
    ['no time', {}],
    ['an unknown member', { when: NOW, ok: true }],
  ])('rejects a snapshot whose handshake has %s', (_what, members) => {
    const { service } = createAt([], { like: { handshake: true } })
    const handshakes = [{ webhookId: FEATURE.id, ...members }] as never
    expect(() => service.restore({ handshakes })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })

  it.each([
    ['is valid until the next is due', 9, 'POST'],
    ['is repeated before the next delivery if it is overdue', 11, 'GET POST'],
  ])('a restored success %s', async (_what, minutes, expected) => {
    const { url, requests } = await switchable()
    const { service } = createAt([], { like: { handshake: 10 * MINUTE } }, NOW + minutes * MINUTE)
    service.restore({ webhooks: [toHook(url)], handshakes: [{ webhookId: FEATURE.id, when: NOW }] })
    await service.trigger(CREATED)
    expect(methodsOf(requests)).toBe(expected)
  })

  it('a service without handshakes keeps the restored ones, and sends', async () => {
    const { url } = await switchable()
    const { service } = createAt([], {})
    const handshakes = [{ webhookId: FEATURE.id, when: NOW, reason: 'status 500', notSent: 2 }]
    service.restore({ webhooks: [toHook(url)], handshakes })
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect(service.snapshot().handshakes).toEqual(handshakes)
  })

  it('reset drops deliveries that wait, and ignores the handshake in flight', async () => {
    const { url, requests, arrived, release } = await gated()
    const { service } = createAt([toHook(url)], { like: { handshake: true } })
    const { notices } = hear(service)
    const attempts = service.trigger(CREATED)
    await arrived(1)
    service.reset()
    release()
    expect(await attempts).toEqual([])
    expect([methodsOf(requests), notices]).toEqual(['GET', []])
    const again = service.trigger(CREATED)
    await arrived(2)
    release()
    expect(statusesOf(await again)).toEqual([200])
  })

  it('close waits for a handshake in flight and sends the deliveries that wait for it', async () => {
    const { url, requests, arrived, release } = await gated()
    const { service, clock } = createAt([toHook(url)], { like: { handshake: 10 * MINUTE } })
    const attempts = service.trigger(CREATED)
    await arrived(1)
    const closed = service.close()
    release()
    await closed
    expect(statusesOf(await attempts)).toEqual([200])
    await clock.advance(60 * MINUTE)
    expect(methodsOf(requests)).toBe('GET POST')
    expect((await service.trigger(CREATED))[0]?.error).toBe('the mock service is closed')
  })

  it('close waits for a handshake in flight with a clock that has only the required methods', async () => {
    const { url, arrived, release } = await gated()
    const clock = { now: () => NOW, wait: () => new Promise<void>(() => {}) }
    const service = createMockService({ clock, webhooks: [toHook(url)], like: { handshake: true } })
    const { notices } = hear(service)
    const [{ id = '' } = {}] = service.list()
    await service.edit(id, { hookUrl: `${url}?version=2` })
    await arrived(1)
    const closed = service.close()
    release()
    await closed
    expect(notices).toHaveLength(1)
  })

  it('close sends gathered events only after a handshake', async () => {
    const { url, requests } = await switchable()
    const { service } = createAt([toHook(url, { scheduleInfo: every(1, 'hour') })], {
      like: { handshake: true },
    })
    const attempts = service.trigger(CREATED)
    await service.close()
    expect(statusesOf(await attempts)).toEqual([200])
    expect(methodsOf(requests)).toBe('GET POST')
  })

  it('a delivery after close to a webhook without a handshake fails like any other', async () => {
    const { url } = await switchable()
    const { service } = createAt([toHook(url)], { like: { handshake: true } })
    const { notices } = hear(service)
    await service.close()
    const [attempt] = await service.trigger(CREATED)
    expect([attempt?.error, notices]).toEqual(['the mock service is closed', []])
  })

  it('each handshake is saved', async () => {
    const { url } = await handshaker((_, res) => void res.writeHead(500).end())
    const saved: unknown[] = []
    const service = createMockService({
      webhooks: [toHook(url)],
      like: { handshake: true },
      clock: createManualClock(NOW),
      save: async ({ handshakes }) => void saved.push(handshakes[0]),
    })
    onTestFinished(() => service.close())
    await service.trigger(CREATED)
    await service.close()
    expect(saved.at(-1)).toEqual({ webhookId: FEATURE.id, when: NOW, reason: 'status 500', notSent: 1 })
  })
})
