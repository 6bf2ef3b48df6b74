import { createMemoryInbox } from 'geohook/inbox'
import { createManualClock } from 'geohook/mock'
import { fill, handleAll, ONE_ATTEMPT, payloads } from '../../helpers/dead-letters.ts'
import { KEY } from '../../helpers/deliver.ts'
import { receiver } from '../../inspector/helpers/mock-support.ts'
import { start } from '../../mock/support.ts'
import { serveInspector } from './serve-inspector.ts'

/** A home with a history that is easy to understand, for pictures. */
export interface Scene {
  /** Address of the inspector. */
  url: string
  pages: readonly (readonly [name: string, path: string])[]
}

const START = Date.UTC(2026, 4, 4, 3, 20, 0)
const PARCELS = { serviceName: 'Parcels', serviceType: 'FeatureServer', signatureKey: KEY } as const
const KINDS = [
  { serviceName: 'Parcels', changeType: 'FeaturesUpdated' },
  { serviceName: 'Parcels', changeType: 'FeaturesCreated' },
  { serviceName: 'Buffer', changeType: 'esriJobSucceeded' },
  { serviceName: 'Hydrants', changeType: 'FeaturesUpdated' },
] as const

/** A mock that has sent deliveries to a receiver. One webhook has another key than its receiver. */
export async function startMockScene(): Promise<Scene> {
  const clock = createManualClock(START)
  const [hookUrl, other] = await Promise.all([receiver(), receiver({ signatureKey: `${KEY}-new` })])
  const webhook = { hookUrl, changeTypes: ['*'] }
  const service = await start(
    [
      { ...PARCELS, ...webhook, name: 'parcels-v2' },
      { ...PARCELS, ...webhook, serviceName: 'Hydrants', name: 'hydrants', hookUrl: other },
      { ...PARCELS, ...webhook, serviceName: 'Buffer', serviceType: 'GPServer', name: 'jobs' },
    ] as Parameters<typeof start>[0],
    { clock },
  )
  for (let number = 0; number < 18; number++) {
    await service.trigger(KINDS[number % KINDS.length] as (typeof KINDS)[number])
    await clock.advance(4_000 + ((number * 7) % 5) * 3_000)
  }
  service.faults.add({ fault: 'altered', times: 2 })
  const ids = service.deliveries.map(({ deliveryId }) => deliveryId)
  const refused = `/deliveries/${ids[15]}`
  return {
    url: service.url,
    pages: [
      ['start', '/'],
      ['refused', refused],
      ['body', `${refused}/body`],
      ['signature', `${refused}/signature`],
      ['attempts', `${refused}/attempts`],
      ['form', `${refused}/edit`],
      ['diff', `/diff?a=${ids[12]}&b=${ids[13]}`],
      ['services', '/webhooks'],
      ['trigger', '/webhooks/trigger?entry=Buffer.GPServer'],
      ['faults', '/faults'],
      ['clock', '/clock'],
    ],
  }
}

const ERRORS = ['the map server answered 503', 'no response from the database in 5 s']

/** An inbox with waiting and done deliveries, and with dead letters of two errors. */
export async function startInboxScene(): Promise<Scene> {
  const inbox = createMemoryInbox({ maxPending: 1_000, ...ONE_ATTEMPT })
  await fill(inbox, payloads(6, 'FeaturesUpdated'))
  await handleAll(inbox)
  for (const [index, error] of ERRORS.entries()) {
    await fill(inbox, payloads(3 - index, 'FeaturesCreated'))
    await handleAll(inbox, error)
  }
  const { url } = await serveInspector(inbox)
  const [dead] = (await inbox.list({ state: 'dead' })).entries
  await fill(inbox, payloads(4, 'FeaturesDeleted'))
  return {
    url,
    pages: [
      ['inbox', '/inbox'],
      ['dead', `/deliveries/${dead?.id}`],
    ],
  }
}
