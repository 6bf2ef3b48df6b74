import { createManualClock, type MockService, type NewWebhook, type WebhookChanges } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { capture, create, FEATURE, JOB, NOWHERE, pathOf, post, seed, start } from './support.ts'

const NOW = 1800000000000
const NEW: NewWebhook = { serviceName: 'Parcels', name: 'new', hookUrl: NOWHERE }
const invalid = (message: RegExp) =>
  expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) })

const service = (options: Parameters<typeof create>[1] = {}): MockService =>
  create([seed(FEATURE), seed(JOB)], { clock: createManualClock(NOW), ...options })

describe('create', () => {
  it('creates the same webhook as the operation', async () => {
    const listening = await start([seed(FEATURE)], { clock: createManualClock(NOW) })
    const members = {
      changeTypes: ['FeaturesCreated', 'FeaturesDeleted'],
      signatureKey: 'parcels2027',
      active: false,
      contentType: 'application/x-www-form-urlencoded',
      scheduleInfo: { recurrenceInfo: { interval: 2, frequency: 'minute' } },
      payloadFormat: 'pjson',
    } satisfies WebhookChanges
    const own = await listening.create({ ...NEW, ...members })
    const { body } = await post(listening, '/services/Parcels.FeatureServer/webhooks/create', {
      ...members,
      name: 'other',
      hookUrl: NOWHERE,
      changeTypes: members.changeTypes.join(','),
      active: 'false',
      scheduleInfo: JSON.stringify(members.scheduleInfo),
    })
    const { status: _, ...others } = body
    expect({ ...own, id: body.id, name: 'other' }).toEqual(others)
    expect(listening.list('Parcels').map(({ name }) => name)).toEqual(['parcel edits', 'new', 'other'])
  })

  it('uses the defaults of the product', async () => {
    const { active } = await service({ like: { product: 'online', handshake: false } }).create(NEW)
    expect(active).toBe(false)
  })

  it.each<[object, RegExp]>([
    [{ name: 'parcel edits' }, /^name is taken by another webhook of this service$/],
    [{ name: '' }, /^name is required$/],
    [{ hookUrl: 'ftp://a' }, /^hookUrl must be an http or https URL/],
    [{ signatureKey: ' key' }, /^signatureKey has white space around it$/],
    [{ changeTypes: ['FeaturesMade'] }, /^changeTypes holds "FeaturesMade"; a FeatureServer has/],
    [{ active: 'maybe' }, /^active must be/],
    [{ scheduleInfo: { state: 'off' } }, /^scheduleInfo.state has a wrong value$/],
    [{ serviceName: 'Nothing' }, /^there is no service Nothing$/],
    [{ changeTypes: [] }, /^changeTypes must not be empty$/],
    [{ active: 0 }, /^active must be true or false$/],
    [{ signatureKey: null }, /^signatureKey must be a text$/],
    [{ signatureKey: new Uint8Array([65]) }, /^signatureKey must be a text$/],
    [{ name: ['a'] }, /^name must be a text$/],
    [{ hookUrl: 5 }, /^hookUrl must be a text$/],
    [{ changeTypes: {} }, /^changeTypes must be a text or a list of texts$/],
    [{ scheduleInfo: '{}' }, /^scheduleInfo must be an object$/],
    [{ config: {} }, /^only webhooks of a portal have a config$/],
    [
      { serviceType: 'Portal', serviceName: 'self', contentType: 'application/json' },
      /^webhooks of a portal have no contentType$/,
    ],
    [{ signatureKeys: 'x' }, /^unknown member signatureKeys: did you mean signatureKey\?$/],
  ])('refuses %j', async (changes, message) => {
    const mock = service()
    const before = mock.snapshot()
    await expect(mock.create({ ...NEW, ...changes })).rejects.toEqual(invalid(message))
    expect(mock.snapshot()).toEqual(before)
  })

  it.each([undefined, null, []])('refuses %j in place of the members', async (webhook) => {
    await expect(service().create(webhook as never)).rejects.toEqual(
      invalid(/^the members must be an object$/),
    )
  })

  it('announces a webhook of a portal, and refuses one that does not accept this', async () => {
    const receiver = await capture()
    const mock = service()
    const portal: NewWebhook = { ...NEW, serviceType: 'Portal', serviceName: 'self', hookUrl: receiver.url }
    const webhook = await mock.create({ ...portal, signatureKey: 'tell', changeTypes: ['/items'] })
    expect(webhook).toMatchObject({ serviceType: 'Portal', changeTypes: ['/items'], signatureKey: 'tell' })
    expect(receiver.requests[0]?.body.toString()).toContain('WebhookRegistry')
    const edited = await mock.edit(webhook.id, { active: false, changeTypes: ['/groups'] })
    expect(edited).toMatchObject({ active: false, changeTypes: ['/groups'], signatureKey: 'tell' })
    expect(await mock.edit(webhook.id, { active: true, name: undefined as never })).toMatchObject({
      active: true,
    })
    await expect(mock.edit(webhook.id, { payloadFormat: 'pjson' })).rejects.toEqual(
      invalid(/^webhooks of a portal have no payloadFormat$/),
    )
    expect(await mock.create({ ...portal, name: 'off', active: false })).toMatchObject({ active: false })
    const refused = mock.create({ ...portal, name: 'other', hookUrl: NOWHERE })
    await expect(refused).rejects.toEqual(invalid(/^url must accept a registration with a 2xx status/))
  })
})

describe('edit', () => {
  it('changes the given members, and keeps the others', async () => {
    const saved: (string | undefined)[] = []
    const mock = service({ save: async ({ webhooks }) => void saved.push(webhooks[0]?.name) })
    const edited = await mock.edit(FEATURE.id, { name: 'renamed' })
    expect(edited).toEqual({ ...FEATURE, name: 'renamed', modified: NOW, modifiedId: 'admin' })
    expect(mock.list()[0]).toEqual(edited)
    await mock.close()
    expect(saved[0]).toBe('renamed')
  })

  it("resets optional members that are left out with omitted: 'reset'", async () => {
    const edited = await service({ like: { omitted: 'reset' } }).edit(FEATURE.id, { active: true })
    const { name, hookUrl, changeTypes } = FEATURE
    expect(edited).toMatchObject({ name, hookUrl, changeTypes, signatureKey: '', scheduleInfo: {} })
  })

  it('refuses an unknown webhook and an invalid value', async () => {
    const mock = service()
    await expect(mock.edit('nothing', {})).rejects.toEqual(invalid(/^the webhook does not exist$/))
    await expect(mock.edit(FEATURE.id, { hookUrl: 'x' })).rejects.toEqual(invalid(/^hookUrl must be/))
    expect(mock.list()[0]).toEqual(FEATURE)
  })
})

it('delete removes one webhook, and list returns copies of the others', async () => {
  const mock = await start()
  await mock.delete(FEATURE.id)
  await expect(mock.delete(FEATURE.id)).rejects.toEqual(invalid(/^the webhook does not exist$/))
  expect((await post(mock, pathOf(FEATURE), {})).status).toBe(404)
  const [job] = mock.list()
  expect(job).toEqual(JOB)
  if (job) job.name = 'mine'
  expect(mock.list({ serviceName: 'Buffer', serviceType: 'GPServer' })).toEqual([JOB])
  expect(() => mock.list('Nothing')).toThrow(invalid(/^there is no service Nothing$/))
})
