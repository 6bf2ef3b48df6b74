import type { ServerResponse } from 'node:http'
import { createManualClock, createMockService, type MockServiceOptions, type Snapshot } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { findPort } from '../helpers/port.ts'
import { call } from './control/support.ts'
import { capture, create, FEATURE, pathOf, post, same, seed, start } from './support.ts'

const CREATED = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }
const configInvalid = (message: RegExp) =>
  expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) })

describe('close', () => {
  it('responds to requests that wait for a delivery or a save', async () => {
    let release = (): void => {}
    const saving = new Promise<void>((resolve) => {
      release = resolve
    })
    const held: ServerResponse[] = []
    const receiver = await capture((_req, res) => void held.push(res))
    const webhook = seed(FEATURE, { hookUrl: receiver.url })
    let saves = 0
    const service = await start([webhook], {
      save: async () => {
        saves += 1
        await saving
      },
    })
    const triggered = call(service, 'POST', '/trigger', CREATED)
    const edited = post(service, `${pathOf(webhook)}/edit`, same(webhook))
    while (held.length === 0 || saves === 0) await new Promise((resolve) => setImmediate(resolve))
    const closed = service.close()
    held[0]?.end()
    release()
    expect((await triggered).body.deliveries).toMatchObject([{ answer: { status: 200 } }])
    expect((await edited).body.status).toBe('success')
    await closed
  })

  it('stops a server that is starting to listen', async () => {
    const service = createMockService()
    const listening = service.listen(await findPort())
    await service.close()
    const url = await listening
    await expect(fetch(url)).rejects.toThrow()
  })
})

describe('reset and restore', () => {
  it('a reset restores the generated ids and times of the seeds', async () => {
    const clock = createManualClock()
    const service = create([], { clock })
    const hookUrl = 'http://127.0.0.1:9/'
    const other = createMockService({
      clock,
      webhooks: [{ serviceName: 'Parcels', serviceType: 'FeatureServer', name: 'n', hookUrl }],
    })
    const before = other.snapshot()
    await clock.advance(1000)
    other.reset()
    expect(other.snapshot()).toEqual(before)
    await Promise.all([service.close(), other.close()])
  })

  it('save their changes one after another, the newest state last', async () => {
    const saved: Snapshot[] = []
    let atOnce = 0
    const service = create([seed(FEATURE)], {
      async save(snapshot) {
        expect(++atOnce).toBe(1)
        await new Promise((resolve) => setImmediate(resolve))
        atOnce -= 1
        saved.push(snapshot)
      },
    })
    service.restore({})
    service.restore({ services: [{ serviceName: 'A', serviceType: 'GPServer' }] })
    service.reset()
    await service.close()
    expect(saved.at(-1)).toEqual(service.snapshot())
  })

  it('treat undefined members as absent', async () => {
    const receiver = await capture((_req, res) => res.writeHead(500).end())
    const settings = { notificationAttempts: undefined, notificationElapsedTimeInSeconds: 0 } as object
    const service = create([], { settings })
    expect(service.settings.notificationAttempts).toBe(3)
    service.restore({ settings, webhooks: [seed(FEATURE, { hookUrl: receiver.url })] })
    expect(await service.trigger(CREATED)).toHaveLength(3)
    const scheduleInfo = { startAt: undefined, recurrenceInfo: undefined, name: 'n' } as object
    service.restore({
      webhooks: [seed(FEATURE, { scheduleInfo: scheduleInfo as typeof FEATURE.scheduleInfo })],
    })
    expect(service.snapshot().webhooks[0]?.scheduleInfo).toEqual({
      name: 'n',
      state: 'enabled',
      startAt: FEATURE.created,
      recurrenceInfo: { interval: 20, frequency: 'second' },
    })
  })

  it.each<[string, object, RegExp]>([
    ['a key with a line break in it', { signatureKey: 'a\nb' }, /signatureKey: must have no white space/],
    ['a name with white space around it', { name: ' a' }, /name: must have no white space/],
    ['an id that is the name of an operation', { id: 'create' }, /id: is the name of an operation/],
    ['a payload URL without a host', { hookUrl: 'http:///x' }, /hookUrl: must be an http or https URL/],
    ['a payload URL with a user', { hookUrl: 'http://a:b@127.0.0.1/' }, /without a user name/],
    ['a function', { name: () => {} }, /name: Invalid input/],
  ])('refuses %s', (_, changes, message) => {
    const webhooks = [{ ...seed(FEATURE), ...changes }] as (typeof FEATURE)[]
    expect(() => createMockService({ webhooks })).toThrow(configInvalid(message))
    const service = create([seed(FEATURE)])
    const before = service.snapshot()
    expect(() => service.restore({ webhooks })).toThrow(configInvalid(message))
    expect(service.snapshot()).toEqual(before)
  })
})

describe('options', () => {
  it.each<[object | null, RegExp]>([
    [null, /^the options must be an object$/],
    [{ setings: {} }, /^unknown option setings: did you mean settings\?$/],
    [{ like: { omited: 'keep' } }, /^unknown like option omited: did you mean omitted\?$/],
    [{ version: '11.4' }, /options\.version/],
    [{ allowHosts: 'a.example' }, /options\.allowHosts/],
    [{ allowHosts: ['a.example:80'] }, /options\.allowHosts\.0: must be a host/],
    [{ auth: {} }, /options\.auth: must have authenticate/],
    [{ clock: {} }, /options\.clock: must have now and wait/],
    [{ control: 'no' }, /options\.control/],
    [{ save: 1 }, /options\.save: must be a function/],
    [{ concurrency: 0 }, /options\.concurrency/],
    [{ settings: { notificationAttempts: 9 } }, /options\.settings\.notificationAttempts/],
    [
      { like: { signature: { signatureHeader: 'Content-Length' } } },
      /options\.like\.signature\.signatureHeader: is a header/,
    ],
    [{ like: { signature: { encodings: 'hex' } } }, /Unrecognized key: "encodings"/],
    [{ webhooks: {} }, /options\.webhooks/],
  ])('refuses %j', (options, message) => {
    expect(() => createMockService(options as MockServiceOptions)).toThrow(configInvalid(message))
  })

  it.each([0.5, -1, Number.NaN, 8.64e15 + 1])('refuses a manual clock that starts at %d', (time) => {
    expect(() => createManualClock(time)).toThrow(configInvalid(/^start must be a time/))
  })
})

it('every edit changes modified, even within one millisecond', async () => {
  const service = await start([seed(FEATURE)], { clock: createManualClock(FEATURE.modified) })
  const edit = async () => (await post(service, `${pathOf(FEATURE)}/edit`, same(FEATURE))).body.modified
  expect([await edit(), await edit()]).toEqual([FEATURE.modified + 1, FEATURE.modified + 2])
})

it('a hosted form contains plain JSON, and the signature in its last field', async () => {
  const receiver = await capture()
  const service = create(
    [seed(FEATURE, { hookUrl: receiver.url, contentType: 'application/x-www-form-urlencoded' })],
    { like: { dialect: 'hosted' } },
  )
  await service.trigger(CREATED)
  expect(String(receiver.requests[0]?.body)).toMatch(
    /^payload=\[\{"name":"parcel edits",.*\}\]&x-esriHook-Signature=sha256%3d[\w%]+$/,
  )
  expect(receiver.requests[0]?.headers).not.toHaveProperty('x-esrihook-signature')
})
