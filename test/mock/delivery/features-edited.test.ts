import { createReceiver, type ReceiverOptions } from 'geohook'
import { webhook } from 'geohook/node'
import { describe, expect, it } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { serve } from '../../helpers/served.ts'
import { create } from '../support.ts'
import { toHook } from './handshake-support.ts'
import { payloadOf, statusesOf } from './support.ts'

const EVENTS = ['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted', 'AttachmentsCreated'].map(
  (changeType) => ({ serviceName: 'Parcels', changeType }),
)
const EDITED = 'FeaturesEdited'

/** Starts a receiver, and returns what its handlers get. */
async function receiver(profile: ReceiverOptions['profile']) {
  const got = { FeaturesEdited: [] as string[], FeaturesCreated: [] as string[] }
  const hook = createReceiver({ signatureKey: KEY, profile } as ReceiverOptions)
    .on('FeaturesEdited', ({ changeType }) => void got.FeaturesEdited.push(changeType))
    .on('FeaturesCreated', ({ changeType }) => void got.FeaturesCreated.push(changeType))
    .on('AttachmentsCreated', () => {})
  const { url } = await serve(webhook(hook))
  return { url, got }
}

describe.each([
  ['service', 'service'],
  ['hosted', 'arcgis'],
] as const)('a webhook in the dialect %s that is subscribed only to FeaturesEdited', (dialect, profile) => {
  it('says the precise change by default: both handlers of a receiver are called', async () => {
    const { url, got } = await receiver(profile)
    const service = create([toHook(url, { changeTypes: [EDITED] })], { like: { dialect } })
    expect(statusesOf(await service.trigger(EVENTS))).toEqual([200])
    expect(got).toEqual({
      FeaturesEdited: ['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted'],
      FeaturesCreated: ['FeaturesCreated'],
    })
  })

  it('says FeaturesEdited with featuresEdited: edited, so only that handler is called', async () => {
    const { url, got } = await receiver(profile)
    const service = create([toHook(url, { changeTypes: [EDITED] })], {
      like: { dialect, featuresEdited: 'edited' },
    })
    expect(statusesOf(await service.trigger(EVENTS))).toEqual([200])
    // An item of the hosted dialect has every name once.
    expect(got).toEqual({
      FeaturesEdited: dialect === 'hosted' ? [EDITED] : [EDITED, EDITED, EDITED],
      FeaturesCreated: [],
    })
  })
})

describe("featuresEdited: 'edited'", () => {
  it.each<[changeTypes: string[], sent: string[]]>([
    [
      [EDITED, 'FeaturesCreated'],
      ['FeaturesCreated', EDITED, EDITED],
    ],
    [[EDITED, '*'], EVENTS.map(({ changeType }) => changeType)],
    [['FeaturesCreated'], ['FeaturesCreated']],
    [
      [EDITED, 'AttachmentsCreated'],
      [EDITED, EDITED, EDITED, 'AttachmentsCreated'],
    ],
  ])('keeps the precise change that %j names', async (changeTypes, sent) => {
    const { url } = await receiver('service')
    const service = create([toHook(url, { changeTypes })], { like: { featuresEdited: 'edited' } })
    const [attempt] = await service.trigger(EVENTS)
    expect(payloadOf(attempt!.request).events.map(({ eventType }) => eventType)).toEqual(sent)
  })

  it('keeps an event that is triggered as FeaturesEdited, and rejects any other option', async () => {
    const { url } = await receiver('service')
    const service = create([toHook(url)], { like: { featuresEdited: 'edited' } })
    const [attempt] = await service.trigger({ serviceName: 'Parcels', changeType: EDITED })
    expect(payloadOf(attempt!.request).events.map(({ eventType }) => eventType)).toEqual([EDITED])
    expect(() => create([], { like: { featuresEdited: 'both' as 'edited' } })).toThrow(
      expect.objectContaining({ code: 'config_invalid' }),
    )
  })
})
