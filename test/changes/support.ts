import type { WebhookEvent } from 'geohook'
import { type ChangesClient, type ChangesOptions, createChanges } from 'geohook/changes'
import { type Parcels, START, startParcels } from '../mock/features/extract/support.ts'

/** The only token that the mock accepts at first. */
export const TOKEN = 't1-secret-token'

/** A mock with one feature, and a client for it. */
export interface Service extends Parcels {
  origin: string
  changes(options?: Partial<ChangesOptions>): ChangesClient
  event(query?: string, members?: Partial<WebhookEvent>): WebhookEvent
}

export const toEvent = (changesUrl: string, members: Partial<WebhookEvent> = {}): WebhookEvent => ({
  changeType: 'FeaturesEdited',
  webhook: {},
  service: { folderName: '', serviceName: 'Parcels', serviceType: 'FeatureServer' },
  changesUrl,
  raw: {},
  ...members,
})

/** Polls and repeats at once, so that tests do not wait. */
export const FAST = { min: 1, max: 2 }

/** Starts a mock that needs a token, with the features `one` and `two` in layer 0. */
export async function startService(options: Parameters<typeof startParcels>[0] = {}): Promise<Service> {
  const parcels = await startParcels({
    auth: {
      authenticate: (token) =>
        /^t\d-/.test(token) || token === 'edit' ? { username: 'a', privileges: [] } : undefined,
    },
    ...options,
  })
  const features = ['one', 'two'].map((name, x) => ({ attributes: { name }, geometry: { x, y: x } }))
  await parcels.post('/0/addFeatures', { token: 'edit', features })
  const { origin } = new URL(parcels.url)
  return {
    ...parcels,
    post: (path, fields) => parcels.post(path, { token: 'edit', ...fields }),
    origin,
    changes: (given = {}) => createChanges({ token: TOKEN, origins: [origin], pollInterval: FAST, ...given }),
    event: (query = `serverGens=[${START},${START + 1000}]`, members = {}) =>
      toEvent(`${parcels.url}/extractChanges?${query}`, members),
  }
}
