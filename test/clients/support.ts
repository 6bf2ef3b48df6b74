import { EventEmitter, once } from 'node:events'
import { ApplicationCredentialsManager, ArcGISIdentityManager } from '@esri/arcgis-rest-request'
import { createReceiver, type Delivery } from 'geohook'
import {
  createManualClock,
  createMockService,
  createTokens,
  type ManualClock,
  type MockService,
  type MockServiceOptions,
  type ProductOptions,
} from 'geohook/mock'
import { webhook } from 'geohook/node'
import { onTestFinished, vi } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'

/** The products that a mock service can be like, if their clients administer the webhooks of services. */
export const PRODUCTS = ['service', 'enterprise', 'online'] as const
export type Product = (typeof PRODUCTS)[number]

export const USER = { username: 'alice', password: 'pw-alice' }
export const APP = { clientId: 'geohook-tests', clientSecret: 'geohook-secret' }
const privileges = ['geoprocessing', 'features'] as const

/** Path of the webhooks of the feature service `Parcels`, as each product has it. */
export const WEBHOOKS: Record<Product, string> = {
  service: '/services/Parcels.FeatureServer/webhooks',
  enterprise: '/admin/services/Parcels.FeatureServer/webhooks',
  online: '/rest/admin/services/Parcels/FeatureServer/WebHooks',
}

/** Path of the feature service `Parcels`. */
export const PARCELS = '/rest/services/Parcels/FeatureServer'

export interface Mock {
  service: MockService
  clock: ManualClock
  url: string
  /** Where the client signs in. */
  portal: string
}

/** Starts a mock service with a feature service and a geoprocessing service; all requests need a token. */
export async function startLike(
  like: Product | 'portal',
  options: Partial<MockServiceOptions> = {},
): Promise<Mock> {
  const clock = createManualClock()
  const service = createMockService({
    clock,
    auth: createTokens({
      users: [
        { ...USER, privileges },
        { username: APP.clientId, password: APP.clientSecret, privileges },
      ],
    }),
    services: [
      { serviceName: 'Parcels', serviceType: 'FeatureServer' },
      { serviceName: 'Buffer', serviceType: 'GPServer' },
    ],
    ...options,
    like: { product: like, window: false, ...(options.like as ProductOptions | undefined) },
  })
  onTestFinished(() => service.close())
  const url = await service.listen()
  return { service, clock, url, portal: `${url}/sharing/rest` }
}

/** Signs in as an application (OAuth client credentials). */
export const asApp = ({ portal }: Pick<Mock, 'portal'>): ApplicationCredentialsManager =>
  new ApplicationCredentialsManager({ ...APP, portal })

/** Signs in as a user. */
export const asUser = ({ portal }: Pick<Mock, 'portal'>): Promise<ArcGISIdentityManager> =>
  ArcGISIdentityManager.signIn({ ...USER, portal })

/**
 * Advances the clock of the mock service and the client's own. For the tokens of applications and servers, the client
 * relies on its own clock: it does not replace one that the service has rejected.
 */
export async function advanceBoth(clock: ManualClock, milliseconds: number): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds })
  onTestFinished(() => void vi.useRealTimers())
  await clock.advance(milliseconds)
}

export interface Receiving {
  url: string
  /** Verified deliveries, oldest first. */
  deliveries: Delivery[]
  /** Resolves when this number of deliveries has arrived in total. */
  arrived(count: number): Promise<void>
  close(): Promise<void>
}

const PROFILES = { service: 'service', enterprise: 'arcgis', online: 'arcgis', portal: 'portal' } as const

/** Starts a receiver that accepts what the product sends, without further options. */
export async function receiveFrom(like: Product | 'portal'): Promise<Receiving> {
  const arrivals = new EventEmitter()
  const deliveries: Delivery[] = []
  const receiver = createReceiver({
    signatureKey: KEY,
    profile: PROFILES[like],
  }).on('*', (_event, delivery) => {
    if (deliveries.includes(delivery)) return
    deliveries.push(delivery)
    arrivals.emit('arrival')
  })
  const { url, close } = await serve(webhook(receiver))
  return {
    url: `${url}/hook`,
    deliveries,
    async arrived(count) {
      while (deliveries.length < count) await once(arrivals, 'arrival')
    },
    close,
  }
}

/**
 * Lets the client send files. Its FormData is not that of the platform; since Node 22, fetch sends the text
 * `[object FormData]` in its place.
 */
export function sendFiles(): void {
  const { fetch } = globalThis
  vi.stubGlobal('fetch', async (input: RequestInfo, init: RequestInit = {}) => {
    const { body } = init
    const isForeign = String(body) === '[object FormData]' && !(body instanceof FormData)
    return fetch(
      input,
      isForeign ? { ...init, body: await toFormData(body as unknown as ForeignForm) } : init,
    )
  })
  onTestFinished(() => void vi.unstubAllGlobals())
}

type ForeignForm = Iterable<[name: string, value: string | File]>

async function toFormData(form: ForeignForm): Promise<FormData> {
  const copy = new FormData()
  for (const [name, value] of form) {
    if (typeof value === 'string') copy.append(name, value)
    else copy.append(name, new File([await value.arrayBuffer()], value.name, { type: value.type }))
  }
  return copy
}
