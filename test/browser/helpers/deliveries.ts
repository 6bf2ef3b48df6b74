import { createHmac } from 'node:crypto'
import { explain } from 'geohook'
import { createPayload } from 'geohook/testing'
import type { Item } from '../../../src/inspector/source.ts'

/** Time of the first delivery. All values are fixed, so that pictures of the page are the same on every run. */
const START = Date.UTC(2026, 4, 4, 3, 0, 0)
/** The key of all webhooks. It must never be on a page. */
export const KEY = 'parcels2026'
const HEADER = 'x-service'

const KINDS = [
  { changeType: 'FeaturesUpdated', service: 'Parcels', type: 'FeatureServer', webhook: 'parcels-v2' },
  { changeType: 'FeaturesCreated', service: 'Parcels', type: 'FeatureServer', webhook: 'parcels-v2' },
  { changeType: 'FeaturesDeleted', service: 'Hydrants', type: 'FeatureServer', webhook: 'hydrants' },
  { changeType: 'esriJobSucceeded', service: 'Buffer', type: 'GPServer', webhook: 'jobs' },
] as const

/** The delivery with a number, 0 for the first one. Every tenth was refused. */
export function createDelivery(number: number, changes: Partial<Item> = {}): Item {
  const { changeType, service, type, webhook } = KINDS[number % KINDS.length]!
  const id = `${(0x8f3c_0000 + number).toString(16)}-4a61-4c57-9d0e-1f7b62a5c3d4`
  const time = new Date(START + number * 7_000)
  const payload = createPayload(changeType, {
    serviceName: service,
    serviceType: type,
    name: webhook,
    when: time.getTime(),
    serverGens: [number, number + 1],
  })
  const body = new TextEncoder().encode(JSON.stringify(payload))
  const isRefused = number % 10 === 9
  const signature = createHmac('sha256', isRefused ? `${KEY}\n` : KEY)
    .update(body)
    .digest('base64')
  const status = isRefused ? 401 : 200
  return {
    id,
    time,
    changeTypes: [changeType],
    service: `${service}.${type}`,
    webhook,
    target: `/hooks/${webhook}`,
    outcome: isRefused ? { tone: 'bad', word: 'refused', status } : { tone: 'good', word: 'handled', status },
    attempts: isRefused ? 3 : 1,
    size: body.length,
    milliseconds: 4 + ((number * 37) % 90),
    request: {
      method: 'POST',
      url: `/hooks/${webhook}`,
      headers: [
        ['host', '127.0.0.1:4000'],
        ['content-type', 'application/json'],
        ['content-length', String(body.length)],
        [HEADER, signature],
        ['authorization', '***'],
        ['user-agent', 'geohook-mock'],
      ],
      body,
      contentType: 'application/json',
    },
    attemptLog: Array.from({ length: isRefused ? 3 : 1 }, (_, index) => ({
      number: index + 1,
      time: new Date(time.getTime() + index * 2_000),
      tone: isRefused ? 'bad' : 'good',
      result: String(status),
      milliseconds: 12,
      answer: { headers: [['content-type', 'text/plain']], body: isRefused ? 'Unauthorized' : 'OK' },
    })),
    facts: [['Window', 'not collected']],
    signature: isRefused
      ? { state: 'refused', name: HEADER, expectedEncoding: 'hex or base64' }
      : {
          state: 'verified',
          name: HEADER,
          expectedEncoding: 'hex or base64',
          encoding: 'base64',
          key: 'key 1 of 1',
        },
    ...(isRefused && {
      code: 'signature_mismatch',
      explain: () => explain({ body, headers: { [HEADER]: signature } }, { signatureKey: KEY }),
    }),
    ...changes,
  }
}
