import type { RequestListener } from 'node:http'
import { inspect } from 'node:util'
import {
  type Admin,
  AdminError,
  type AdminOptions,
  createAdmin,
  type Webhook,
  type Webhooks,
} from 'geohook/admin'
import {
  createManualClock,
  type MockService,
  type MockServiceOptions,
  type Webhook as Stored,
  type WebhookSeed,
} from 'geohook/mock'
import { expect } from 'vitest'
import { serve } from '../helpers/served.ts'
import { create, seed, toProduct } from '../mock/support.ts'

export const PRODUCTS = ['service', 'enterprise', 'online', 'portal'] as const
export type Product = (typeof PRODUCTS)[number]

export const NOW = 1_800_000_000_000
/** A payload URL with a secret part, as automation services create it. */
export const FLOW = 'https://flows.example:443/workflows/7f0e/run?sig=Zm9vYmFy_Flow-Secret'
export const KEY = 'parcels-key-2026'

/** A webhook whose members all differ from their defaults. */
const FEATURE: Stored = {
  folderName: '',
  serviceName: 'Parcels',
  serviceType: 'FeatureServer',
  id: 'c4a7db24-0c5e-4a00-9103-0c7d2fdc03b4',
  name: 'edits',
  changeTypes: ['FeaturesCreated', 'FeaturesUpdated'],
  signatureKey: KEY,
  hookUrl: FLOW,
  active: true,
  contentType: 'application/x-www-form-urlencoded',
  scheduleInfo: {
    name: 'often',
    state: 'disabled',
    startAt: 1_600_000_000_000,
    recurrenceInfo: { interval: 45, frequency: 'second' },
  },
  payloadFormat: 'pjson',
  created: 1_700_000_000_000,
  modified: 1_700_000_001_000,
  ownerId: 'alice',
  modifiedId: 'bob',
}

const ORGANIZATION: Stored = {
  ...FEATURE,
  serviceName: 'P1',
  serviceType: 'Portal',
  changeTypes: ['/items/add', '/groups'],
  contentType: 'application/json',
  scheduleInfo: {},
  payloadFormat: 'json',
  config: { deactivationPolicy: { numberOfFailures: 7, daysInPast: 9 }, properties: { notebook: 'n1' } },
}

/** A stored webhook of a product. */
export const stored = (product: Product, changes: Partial<Stored> = {}): Stored =>
  seed(product === 'portal' ? ORGANIZATION : FEATURE, changes)

/** The name of the service with webhooks; empty for a portal. */
export const serviceOf = (product: Product): string => (product === 'portal' ? '' : 'Parcels.FeatureServer')

export const webhooksOf = (admin: Admin): Webhooks =>
  admin.product === 'portal' ? admin.portal() : admin.service('Parcels.FeatureServer')

/** A request of the client. */
export interface Sent {
  method: string
  path: string
  form: Record<string, string>
  headers: Headers
}

export interface Started {
  mock: MockService
  url: string
  admin: Admin
  webhooks: Webhooks
  sent: Sent[]
  close(): Promise<void>
}

export interface StartOptions extends MockServiceOptions {
  webhooks?: readonly WebhookSeed[]
  admin?: Partial<AdminOptions>
  /** Answers requests before the mock does. Returns false for those that the mock answers. */
  before?: (...request: Parameters<RequestListener>) => boolean | Promise<boolean>
}

/**
 * Starts a mock with a product's webhook, behind a server that answers payload URLs below `/hook` itself, and a client for
 * it.
 */
export async function start(
  product: Product,
  { webhooks = [stored(product)], admin: options, before, ...others }: StartOptions = {},
): Promise<Started> {
  const like = { product, handshake: false, ...toProduct(others.like) }
  const mock = create([...(webhooks as Stored[])], { clock: createManualClock(NOW), ...others, like })
  const { url, close } = await serve(async (req, res) => {
    if (req.url?.startsWith('/hook'))
      res.writeHead(req.url.startsWith('/hook/500') ? 500 : 200).end('no room')
    else if (!(await before?.(req, res))) mock.app(req, res)
  })
  const sent: Sent[] = []
  const admin = createAdmin({ url, product, timeout: 5000, fetch: record(sent), ...options })
  return { mock, url, admin, webhooks: webhooksOf(admin), sent, close }
}

/**
 * Starts a client for a server that sends one response to every request: a webhook that is also a list of itself. For
 * ArcGIS Online, it is an array.
 */
export async function startFixed(product: Product, webhook: object, answer: object = {}) {
  const sent: Sent[] = []
  const only = { ...webhook, webhooks: [webhook], ...answer }
  const text = JSON.stringify(product === 'online' ? [only] : only)
  const { url } = await serve((req, res) => void req.resume().on('end', () => res.end(text)))
  const admin = createAdmin({ url, product, timeout: 5000, fetch: record(sent) })
  return { admin, webhooks: webhooksOf(admin), sent }
}

/** A `fetch` that records the requests. */
export const record =
  (sent: Sent[]): NonNullable<AdminOptions['fetch']> =>
  (url, init) => {
    const form = Object.fromEntries(new URLSearchParams(String(init.body ?? url.searchParams)))
    sent.push({ method: init.method ?? 'GET', path: url.pathname, form, headers: new Headers(init.headers) })
    return fetch(url, init)
  }

export async function listOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = []
  for await (const item of items) list.push(item)
  return list
}

/** Copies the members of a webhook, without those of the client's answer that tests do not compare. */
export const membersOf = ({ raw: _, ...members }: Webhook): object => ({ ...members })

/** Returns the error of a promise that must reject with an {@link AdminError}. */
export async function errorOf(promise: Promise<unknown>): Promise<AdminError> {
  const error = await promise.then(
    (value) => expect.fail(`resolved: ${inspect(value)}`),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(AdminError)
  return error as AdminError
}

/** All that an error shows when it is printed or logged. */
export const printed = (error: unknown): string =>
  [
    String(error),
    (error as Error).stack,
    String((error as Error).cause),
    JSON.stringify(error),
    JSON.stringify({ ...(error as object) }),
    JSON.stringify((error as Error).cause),
    inspect(error, { depth: 9, showHidden: false }),
  ].join('\n')

/** The forms in which a secret can be hidden in a text. */
export const spellingsOf = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(secret).toString('hex'),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
]

export function expectNone(text: string, secrets: readonly string[]): void {
  const found = secrets.filter((secret) => spellingsOf(secret).some((spelling) => text.includes(spelling)))
  expect(found, text).toEqual([])
}
