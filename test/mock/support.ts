import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import {
  createMockService,
  type MockService,
  type MockServiceOptions,
  type ProductOptions,
  type Webhook,
} from 'geohook/mock'
import { onTestFinished } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'

/** An allowed payload URL where no receiver listens. */
export const NOWHERE = 'http://127.0.0.1:9/hook'

/** A webhook whose fields all differ from their defaults, so that tests notice a lost field. */
export const FEATURE: Webhook = {
  serviceName: 'Parcels',
  serviceType: 'FeatureServer',
  folderName: '',
  id: 'c4a7db24-0c5e-4a00-9103-0c7d2fdc03b4',
  name: 'parcel edits',
  changeTypes: ['FeaturesCreated', 'FeaturesUpdated'],
  signatureKey: KEY,
  hookUrl: NOWHERE,
  active: true,
  contentType: 'application/json',
  scheduleInfo: {
    name: 'often',
    state: 'enabled',
    startAt: 1600000000000,
    recurrenceInfo: { interval: 30, frequency: 'second' },
  },
  payloadFormat: 'json',
  created: 1700000000000,
  modified: 1700000001000,
  ownerId: 'alice',
  modifiedId: 'bob',
}

export const JOB: Webhook = {
  ...FEATURE,
  serviceName: 'Buffer',
  serviceType: 'GPServer',
  id: '0b0d9f1e-53a5-4a2e-9d4e-7c0f6a1f2b3c',
  name: 'jobs done',
  changeTypes: ['*'],
  scheduleInfo: {},
}

/** Copies a webhook, and applies changes. The result is a seed for a mock service. */
export const seed = (from: Webhook, changes: Partial<Webhook> = {}): Webhook => ({
  ...structuredClone(from),
  ...changes,
})

/** The option `like` as an object. */
export const toProduct = (like: MockServiceOptions['like'] = {}): ProductOptions =>
  typeof like === 'string' ? { product: like } : like

/** Creates a mock service that does not listen, opens no windows and makes one attempt per delivery. */
export function create(webhooks: Webhook[], options: MockServiceOptions = {}): MockService {
  const service = createMockService({
    webhooks,
    settings: { notificationAttempts: 1 },
    ...options,
    like: { window: false, ...toProduct(options.like) },
  })
  onTestFinished(() => service.close())
  return service
}

/** Starts a mock service that listens. */
export async function start(
  webhooks: Webhook[] = [seed(FEATURE), seed(JOB)],
  options: MockServiceOptions = {},
): Promise<MockService> {
  const service = create(webhooks, options)
  await service.listen()
  return service
}

/** A request received at the payload URL. */
export interface Captured {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** A receiver that records the bytes and headers of requests. */
export interface Capture {
  url: string
  port: number
  requests: Captured[]
  close(): Promise<void>
}

export async function capture(
  respond: RequestListener = (_req, res) => res.end('taken'),
  port = 0,
): Promise<Capture> {
  const requests: Captured[] = []
  const server = await serve(async (req, res) => {
    const parts: Buffer[] = []
    try {
      for await (const part of req) parts.push(part as Buffer)
    } catch {
      return // the sender closed the connection
    }
    const { method = '', url = '', headers } = req
    requests.push({ method, url, headers, body: Buffer.concat(parts) })
    respond(req, res)
  }, port)
  return { ...server, url: `${server.url}/hook`, requests }
}

/** Returns the path of a webhook (docs/specification.md, "Endpoints"). */
export function pathOf({ folderName, serviceName, serviceType, id }: Webhook): string {
  return `/services/${folderName === '' ? '' : `${folderName}/`}${serviceName}.${serviceType}/webhooks/${id}`
}

/** Returns the required parameters of an edit with their current values, so that the edit changes nothing. */
export const same = ({ name, changeTypes, hookUrl }: Webhook): Record<string, string> => ({
  name,
  changeTypes: changeTypes.join(','),
  hookUrl,
})

export interface Posted {
  status: number
  headers: Headers
  text: string
  body: Record<string, unknown>
}

/** Posts a form. To repeat a name, pass the parameters as pairs. */
export async function post(
  service: MockService,
  path: string,
  parameters: Record<string, string> | [string, string][],
): Promise<Posted> {
  const response = await fetch(service.url + path, {
    method: 'POST',
    body: new URLSearchParams(parameters),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}
