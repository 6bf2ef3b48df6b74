import { createMockService, type Notice, type Snapshot, type SnapshotSeed } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { JOB, seed } from '../support.ts'
import { alter, answering, CREATED, createAt, NOW, PLAIN, receive } from './support.ts'

describe('snapshot() and restore()', () => {
  const full: SnapshotSeed = {
    services: [{ serviceName: 'Empty', serviceType: 'GPServer', folderName: 'City' }],
    webhooks: [seed(PLAIN), seed(JOB)],
    settings: { notificationAttempts: 2, daysInPast: 30 },
    failures: [{ webhookId: PLAIN.id, times: [NOW - 2, NOW - 1] }],
  }

  it('a snapshot can be restored into another service', () => {
    const { service } = createAt([])
    service.restore(full)
    const snapshot = service.snapshot()
    expect(snapshot).toMatchObject({
      services: [...full.services!, { serviceName: 'Parcels' }, { serviceName: 'Buffer' }],
      webhooks: full.webhooks,
      settings: { notificationAttempts: 2, notificationTimeOutInSeconds: 10, daysInPast: 30 },
      failures: full.failures,
    })
    const other = createMockService()
    other.restore(JSON.parse(JSON.stringify(snapshot)))
    expect(other.snapshot()).toEqual(snapshot)
  })

  it('a snapshot is a copy', () => {
    const { service } = createAt([])
    service.restore(full)
    const before = service.snapshot()
    const changed = service.snapshot()
    changed.webhooks[0]!.changeTypes.push('mine')
    changed.failures[0]!.times.push(1)
    changed.settings.daysInPast = 1
    expect(service.snapshot()).toEqual(before)
    const given = service.snapshot()
    service.restore(given)
    given.failures[0]!.times.push(1)
    given.webhooks[0]!.changeTypes.push('mine')
    expect(service.snapshot()).toEqual(before)
  })

  it('restored failures count towards the deactivation of a webhook', async () => {
    const { url } = await receive(answering(500))
    const settings = { notificationAttempts: 1, numberOfFailures: 3 }
    const { service } = createAt([], { settings })
    service.restore({ ...full, settings, webhooks: [seed(PLAIN, { hookUrl: url })] })
    await service.trigger(CREATED)
    expect(service.snapshot().webhooks).toMatchObject([{ active: false }])
  })

  it('an empty snapshot removes everything, and resets the settings to the defaults of the service', () => {
    const { service } = createAt([PLAIN], { settings: { daysInPast: 7 } })
    service.restore(full)
    service.restore({})
    expect(service.snapshot()).toMatchObject({
      services: [],
      webhooks: [],
      failures: [],
      settings: { daysInPast: 7 },
    })
  })

  it.each<[string, object]>([
    ['an unknown member', { hooks: [] }],
    ['a webhook without a name', { webhooks: [{ ...PLAIN, name: '' }] }],
    ['two webhooks with the same id', { webhooks: [PLAIN, { ...PLAIN, name: 'another' }] }],
    ['two webhooks with the same name', { webhooks: [PLAIN, { ...PLAIN, id: 'another' }] }],
    ['white space around a key', { webhooks: [{ ...PLAIN, signatureKey: 'key\n' }] }],
    ['an invalid payload URL', { webhooks: [{ ...PLAIN, hookUrl: 'ftp://127.0.0.1/' }] }],
    ['no attempts', { settings: { notificationAttempts: 0 } }],
    ['an unknown setting', { settings: { attempts: 3 } }],
    ['a failure before all time', { failures: [{ webhookId: 'a', times: [-1] }] }],
    ['a service in a folder in a folder', { services: [{ serviceName: 'a/b', serviceType: 'GPServer' }] }],
    ['a service of no type', { services: [{ serviceName: 'a', serviceType: 'MapServer' }] }],
  ])('refuses %s, and changes nothing', (_, bad) => {
    const { service } = createAt([])
    service.restore(full)
    const before = service.snapshot()
    const told: Notice[] = []
    service.on((notice) => told.push(notice))
    const given = { ...service.snapshot(), services: [], ...bad } as Snapshot
    expect(() => service.restore(given)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect([service.snapshot(), told]).toEqual([before, []])
  })
})

describe('reset()', () => {
  it('restores the seeds and settings, and drops the attempt log and failures', async () => {
    const { url } = await receive(answering(500))
    const { service } = createAt([seed(PLAIN, { hookUrl: url })], { settings: { notificationAttempts: 1 } })
    const before = service.snapshot()
    await service.trigger(CREATED)
    service.restore({ ...service.snapshot(), settings: { daysInPast: 9 }, services: [] })
    alter(service, { name: 'renamed' })
    service.reset()
    expect(service.snapshot()).toEqual(before)
    expect(service.deliveries).toEqual([])
  })
})
