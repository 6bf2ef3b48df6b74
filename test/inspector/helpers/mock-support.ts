import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, type ReceiverOptions } from 'geohook'
import type { MockService, MockServiceOptions, Webhook } from 'geohook/mock'
import { webhook } from 'geohook/node'
import { onTestFinished } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { FEATURE, JOB, seed, start } from '../../mock/support.ts'

export const PARCELS = 'Parcels.FeatureServer'

/** Starts a receiver that handles every delivery. Returns its address. */
export async function receiver(options: Partial<ReceiverOptions> = {}): Promise<string> {
  const hook = createReceiver({
    signatureKey: KEY,
    observer: { refused() {}, failed() {} },
    ...options,
  } as ReceiverOptions).on('*', () => {})
  const server = createServer(webhook(hook)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
}

/** Starts a mock with one webhook of each service. The feature service sends at once. */
export const mock = (
  hookUrl: string,
  changes: Partial<Webhook> = {},
  options: MockServiceOptions = {},
): Promise<MockService> =>
  start(
    [seed(FEATURE, { hookUrl, changeTypes: ['*'], scheduleInfo: {}, ...changes }), seed(JOB, { hookUrl })],
    options,
  )

export const CREATED = { serviceName: 'Parcels', changeType: 'FeaturesCreated' } as const

/** A page of the inspector. */
export interface Page {
  status: number
  text: string
  /** Path after a redirect. */
  path: string
}

/** Opens a page as a browser does. */
export async function open({ url }: { url: string }, path = '/'): Promise<Page> {
  const response = await fetch(url + path, { headers: { accept: 'text/html' } })
  return toPage(response)
}

const toPage = async (response: Response): Promise<Page> => ({
  status: response.status,
  text: decodeEntities(await response.text()),
  path: new URL(response.url).pathname,
})

/** The page with entities decoded, for assertions about its text. */
const decodeEntities = (text: string): string =>
  text.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&')

/** Submits a form of the inspector with the secret of its pages, and follows the redirect. */
export async function submit(
  service: MockService,
  path: string,
  values: Record<string, string> = {},
): Promise<Page> {
  const { text } = await open(service)
  const [, secret = ''] = /name="form-secret" value="(\w+)"/.exec(text) ?? []
  return toPage(
    await fetch(service.url + path, {
      method: 'POST',
      headers: { origin: service.url },
      body: new URLSearchParams({ 'form-secret': secret, ...values }),
    }),
  )
}

/** Path of the delivery that began last. */
export const lastPath = ({ deliveries }: MockService): string =>
  `/deliveries/${deliveries.at(-1)?.deliveryId}`

/** Every page that a mock with deliveries has, without the actions of entries. */
export const pathsOf = (service: MockService): string[] => [
  '/',
  ...['webhooks', 'features', 'faults', 'settings', 'clock'].map((name) => `/${name}`),
  ...[
    '/webhooks/trigger?entry=Parcels.FeatureServer',
    '/features/add?entry=Parcels.FeatureServer/0',
    '/faults/arm',
    '/faults/clear',
    '/settings/change',
    '/clock/advance',
  ],
  '/webhooks/create?entry=Parcels.FeatureServer',
  ...service
    .snapshot()
    .webhooks.flatMap(({ id }) => [`/webhooks/edit?entry=${id}`, `/webhooks/delete?entry=${id}`]),
  ...[...new Set(service.deliveries.map(({ deliveryId }) => deliveryId))].flatMap((id) =>
    [
      '',
      '/body',
      '/headers',
      '/events',
      '/signature',
      '/attempts',
      '/curl',
      '/edit',
      '/replay',
      '/resend',
    ].map((tab) => `/deliveries/${id}${tab}`),
  ),
]
