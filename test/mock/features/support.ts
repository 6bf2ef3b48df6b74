import type { LayerSeed, MockService, MockServiceOptions } from 'geohook/mock'
import { start } from '../support.ts'

// biome-ignore lint/suspicious/noExplicitAny: the tests read members of JSON responses
export type Json = any

/** The default layer of `Parcels`. */
export const LAYER = 'Parcels/FeatureServer/0'
export const SERVICE = 'Parcels/FeatureServer'

/** A layer of trees. */
export const TREES: LayerSeed = {
  name: 'Trees',
  geometryType: 'esriGeometryPoint',
  fields: [
    { name: 'kind', type: 'esriFieldTypeString', length: 10 },
    { name: 'height', type: 'esriFieldTypeDouble' },
    { name: 'count', type: 'esriFieldTypeInteger', nullable: false },
    { name: 'planted', type: 'esriFieldTypeDate' },
    { name: 'ref', type: 'esriFieldTypeGUID' },
  ],
}

/** Starts a mock with the feature service `Parcels`, which has one default layer unless `layers` are given. */
export const startFeatures = (
  layers?: readonly LayerSeed[],
  options: MockServiceOptions = {},
): Promise<MockService> =>
  start([], { services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers }], ...options })

type Fields = Record<string, unknown>

/** Encodes parameters as a form: objects and arrays as JSON. */
export const toForm = (fields: Fields): URLSearchParams =>
  new URLSearchParams(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ]),
  )

/** Posts a form to a path below `/rest/services/`, and returns the JSON of the response. */
export async function post(service: MockService, path: string, fields: Fields = {}): Promise<Json> {
  const response = await fetch(`${service.url}/rest/services/${path}`, {
    method: 'POST',
    body: toForm({ f: 'json', ...fields }),
  })
  return response.json()
}

/** Gets a path below `/rest/services/` as JSON. */
export async function get(service: MockService, path: string, fields: Fields = {}): Promise<Json> {
  const response = await fetch(`${service.url}/rest/services/${path}?${toForm({ f: 'json', ...fields })}`)
  return response.json()
}
