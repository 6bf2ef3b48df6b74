import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import express from 'express'
import { createManualClock, createMockService, type ScheduleInfo } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { findPort } from '../helpers/port.ts'
import { capture, create, FEATURE, JOB, NOWHERE, pathOf, post, same, seed, start } from './support.ts'

const created = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }
const configInvalid = (message: RegExp) =>
  expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) })

describe('a seeded webhook', () => {
  const LEAST = { serviceName: 'Parcels', name: 'n', hookUrl: NOWHERE }
  const now = 1800000000000

  it.each(['FeatureServer', 'GPServer'] as const)(
    'of a %s has defaults for all optional fields, and no schedule',
    (serviceType) => {
      const clock = createManualClock(now)
      const service = createMockService({ webhooks: [{ ...LEAST, serviceType }], clock })
      expect(service.snapshot()).toEqual({
        services: [{ folderName: '', serviceName: 'Parcels', serviceType }],
        settings: expect.anything(),
        failures: [],
        handshakes: [],
        webhooks: [
          {
            id: expect.stringMatching(
              /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
            ),
            folderName: '',
            serviceName: 'Parcels',
            serviceType,
            name: 'n',
            changeTypes: ['*'],
            signatureKey: '',
            hookUrl: NOWHERE,
            active: true,
            contentType: 'application/json',
            scheduleInfo: {},
            payloadFormat: 'json',
            created: now,
            modified: now,
            ownerId: 'admin',
            modifiedId: 'admin',
          },
        ],
      })
    },
  )

  it.each(['http://1.2.3.400/hook', 'file:///etc/passwd', 'javascript:alert(1)', 'not a url', ''])(
    'cannot have the payload URL %j',
    (hookUrl) => {
      expect(() => createMockService({ webhooks: [seed(FEATURE, { hookUrl })] })).toThrow(
        configInvalid(/hookUrl: must be an http or https URL/),
      )
    },
  )

  it('never has a schedule if it belongs to a geoprocessing service', () => {
    const { scheduleInfo } = seed(FEATURE)
    const service = createMockService({
      webhooks: [seed(JOB, { ...(scheduleInfo ? { scheduleInfo } : {}) })],
    })
    expect(service.snapshot().webhooks[0]?.scheduleInfo).toEqual({})
  })

  it('has a complete schedule in the order of the specification', () => {
    const { recurrenceInfo, startAt } = FEATURE.scheduleInfo
    const seeded = [{ recurrenceInfo, startAt } as ScheduleInfo, {}].map((scheduleInfo, i) =>
      seed(FEATURE, { scheduleInfo, id: `w${i}`, name: `w${i}` }),
    )
    const { webhooks } = createMockService({ webhooks: seeded, clock: createManualClock(now) }).snapshot()
    const [given, none] = webhooks.map(({ scheduleInfo }) => JSON.stringify(scheduleInfo))
    const rest = JSON.stringify({ startAt, recurrenceInfo }).slice(1)
    expect(given).toBe(`{"name":"","state":"enabled",${rest}`)
    expect(none).toBe('{}')
  })

  it('is copied, so changes to the seed or to a snapshot do not affect the service', () => {
    const webhook = seed(FEATURE)
    const service = createMockService({ webhooks: [webhook] })
    const before = structuredClone(service.snapshot())
    for (const changed of [webhook, service.snapshot().webhooks[0]]) {
      changed?.changeTypes?.push('FeaturesDeleted')
      Object.assign(changed?.scheduleInfo ?? {}, { name: 'changed' })
    }
    Object.assign(service.snapshot().services[0] ?? {}, { serviceName: 'Changed' })
    expect(service.snapshot()).toEqual(before)
  })

  it.each([
    ['an id', { name: 'other' }, /two webhooks have the id c4a7db24/],
    [
      'a name of one service',
      { id: 'other' },
      /two webhooks of Parcels\.FeatureServer are named parcel edits/,
    ],
  ])('is refused if it shares %s with another', (_, changes, message) => {
    const webhooks = [seed(FEATURE), seed(FEATURE, changes)]
    expect(() => createMockService({ webhooks })).toThrow(configInvalid(message))
  })

  it.each([' ', 'parcels2026\n'])(
    'is refused with the key %j, which no receiver would accept',
    (signatureKey) => {
      expect(() => createMockService({ webhooks: [seed(FEATURE, { signatureKey })] })).toThrow(
        configInvalid(/signatureKey: must have no white space around it, and no control characters$/),
      )
    },
  )
})

describe('services', () => {
  it('are those in services and those of webhooks, without duplicates', () => {
    const roads = { serviceName: 'Roads', serviceType: 'FeatureServer' } as const
    const { serviceName, serviceType } = FEATURE
    const service = createMockService({
      services: [roads, { serviceName, serviceType }],
      webhooks: [seed(FEATURE), seed(FEATURE, { id: 'city', folderName: 'City' })],
    })
    expect(service.snapshot().services).toEqual([
      { folderName: '', ...roads },
      { folderName: '', serviceName, serviceType },
      { folderName: 'City', serviceName, serviceType },
    ])
  })

  it.each([
    ['with an unknown name', { serviceName: 'Roads' }, /^there is no service Roads$/],
    ['with a name from Object.prototype', { serviceName: '__proto__' }, /^there is no service __proto__$/],
    ['in an unknown folder', { folderName: 'City' }, /^there is no service City\/Parcels$/],
    [
      'of an unknown type',
      { serviceName: 'Buffer', serviceType: 'FeatureServer' as const },
      /^there is no service Buffer\.FeatureServer$/,
    ],
    ['of two types', {}, /^serviceType is needed for Parcels$/],
  ])('an event on a service %s is refused', async (_, event, message) => {
    const twin = seed(FEATURE, { serviceType: 'GPServer', id: 'twin' })
    const service = await start([seed(FEATURE), twin, seed(JOB)])
    await expect(service.trigger({ ...created, ...event })).rejects.toEqual(configInvalid(message))
  })

  it('with the same name are distinguished by their type', async () => {
    const receiver = await capture()
    const both = (['FeatureServer', 'GPServer'] as const).map((serviceType) =>
      seed(FEATURE, { serviceType, id: serviceType, changeTypes: ['*'], hookUrl: receiver.url }),
    )
    const service = await start(both)
    const changeType = 'esriJobSucceeded'
    const attempts = await service.trigger({ ...created, changeType, serviceType: 'GPServer' })
    expect(attempts.map(({ webhookId }) => webhookId)).toEqual(['GPServer'])
  })

  it('without webhooks can have events', async () => {
    const { serviceName, serviceType } = FEATURE
    const service = await start([], { services: [{ serviceName, serviceType }] })
    expect(await service.trigger(created)).toEqual([])
  })
})

describe('listen and close', () => {
  it('listens on 127.0.0.1 only, on the given port', async () => {
    const port = await findPort()
    const service = createMockService()
    expect(service.url).toBe('')
    expect(await service.listen(port)).toBe(`http://127.0.0.1:${port}`)
    expect(service.url).toBe(`http://127.0.0.1:${port}`)
    await service.close()
    expect(service.url).toBe('')
  })

  it('rejects a port that is in use or invalid, and can then listen on another port', async () => {
    const { port } = await capture()
    const service = createMockService()
    await expect(service.listen(port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await expect(service.listen(65_536)).rejects.toMatchObject({ code: 'ERR_SOCKET_BAD_PORT' })
    await service.listen()
    await service.close()
  })

  it('can listen only once', async () => {
    const service = create([seed(FEATURE)])
    const [first, second] = await Promise.allSettled([service.listen(), service.listen()])
    expect(first).toEqual({ status: 'fulfilled', value: service.url })
    expect(second).toMatchObject({ reason: configInvalid(/^listen was called before$/) })
    await service.close()
    await expect(service.listen()).rejects.toEqual(configInvalid(/^listen was called before$/))
  })

  it.each([
    ['127.0.0.1', 200],
    ['localhost:1', 200],
    ['LOCALHOST', 200],
    ['[::1]:80', 200],
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['localhost@evil.example', 403],
    ['10.0.0.1', 403],
    ['a:99999', 400],
    ['localhost:99999', 400],
    ['localhost:80:80', 400],
    ['localhost:0x50', 400],
    ['[::1', 400],
  ])('accepts host names of this machine only: %j, %i', async (host, status) => {
    const service = await start()
    for (const path of ['/_mock/snapshot', '/services/Parcels.FeatureServer/webhooks']) {
      const answer = await send(service.url + path, { method: 'GET', headers: { host } })
      expect(answer.status).toBe(status)
      if (status !== 200) expect(JSON.parse(answer.text)).toMatchObject({ status: 'error', code: status })
    }
  })

  it('can be closed before it listens, and twice', async () => {
    const idle = createMockService()
    await Promise.all([idle.close(), idle.close()])
    const service = await start()
    await Promise.all([service.close(), service.close()])
    await service.close()
  })

  it('close does not wait for clients that send nothing or an incomplete request', async () => {
    const service = await start()
    const port = Number(new URL(service.url).port)
    const clients = ['', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf'].map((text) => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.write(text)
      return socket
    })
    await Promise.all(clients.map((socket) => once(socket, 'connect')))
    await post(service, `${pathOf(FEATURE)}/edit`, same(FEATURE))
    const ended = clients.map((socket) => once(socket.resume(), 'close'))
    await service.close()
    await Promise.all(ended)
  })

  it('close waits for deliveries in flight; later ones are recorded as failed', async () => {
    const held = new EventEmitter()
    const receiver = await capture((_req, res) => held.emit('arrived', res))
    const service = await start([seed(FEATURE, { hookUrl: receiver.url })])
    const arrived = once(held, 'arrived')
    const triggered = service.trigger(created)
    const [res] = (await arrived) as [ServerResponse]
    const closed = service.close()
    res.end()
    expect((await triggered)[0]?.answer?.status).toBe(200)
    await closed
    expect((await service.trigger(created))[0]?.error).toBe('the mock service is closed')
    expect(receiver.requests).toHaveLength(1)
  })

  it('delivers events without listen, which only the administration needs', async () => {
    const receiver = await capture()
    const service = create([seed(FEATURE, { hookUrl: receiver.url })])
    expect((await service.trigger(created))[0]?.answer?.status).toBe(200)
  })

  it('the administration can be mounted in another server, below a path', async () => {
    const service = createMockService({ webhooks: [seed(FEATURE)] })
    const mounted = await listen(express().use('/admin', service.app))
    const body = new URLSearchParams(same(FEATURE))
    const url = new URL(`/admin${pathOf(FEATURE)}/edit`, mounted.url)
    expect((await fetch(url, { method: 'POST', body })).status).toBe(200)
    await mounted.close()
    await service.close()
  })
})
