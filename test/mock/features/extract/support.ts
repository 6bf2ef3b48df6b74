import {
  createManualClock,
  createMockService,
  type ManualClock,
  type MockService,
  type MockServiceOptions,
} from 'geohook/mock'
import { onTestFinished } from 'vitest'
import type { Copy, Row } from './reader.ts'

export const START = 1_700_000_000_000

/** A listening mock with one feature service, whose features tests edit over HTTP. */
export interface Parcels {
  service: MockService
  clock: ManualClock
  /** URL of the feature service. */
  url: string
  /** Sends a form, and returns the JSON of the response. */
  post(path: string, fields: Record<string, unknown>): ReturnType<Response['json']>
  /** Adds features to layer 0. @returns their object ids */
  add(...names: string[]): Promise<number[]>
  /** Adds a text file to a feature of layer 0. */
  attach(objectId: number, name: string, text: string): Promise<void>
  generation(): Promise<number>
}

export async function startParcels(options: MockServiceOptions = {}): Promise<Parcels> {
  const clock = createManualClock(START)
  const service = createMockService({
    clock,
    services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer' }],
    ...options,
  })
  onTestFinished(() => service.close())
  const url = `${await service.listen()}/rest/services/Parcels/FeatureServer`
  const post: Parcels['post'] = async (path, fields) => {
    const texts = Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ])
    const body = new URLSearchParams({ f: 'json', ...Object.fromEntries(texts) })
    return (await fetch(`${url}${path}`, { method: 'POST', body })).json()
  }
  return {
    service,
    clock,
    url,
    post,
    async add(...names) {
      const features = names.map((name, index) => ({
        attributes: { name },
        geometry: { x: index, y: -index },
      }))
      const { addResults } = await post('/0/addFeatures', { features })
      return addResults.map(({ objectId }: { objectId: number }) => objectId)
    },
    async attach(objectId, name, text) {
      const form = new FormData()
      form.set('f', 'json')
      form.set('attachment', new File([text], name, { type: 'text/plain' }))
      await fetch(`${url}/0/${objectId}/addAttachment`, { method: 'POST', body: form })
    },
    async generation() {
      const { changeTrackingInfo } = await post('', { returnUpdates: 'true' })
      return changeTrackingInfo.layerServerGens[0].serverGen
    },
  }
}

/** The features of the mock in the form of a copy. */
export function copyOf({ service }: Pick<Parcels, 'service'>): Copy {
  const copy: Copy = new Map()
  for (const { id, features } of service.snapshot().featureData?.[0]?.layers ?? []) {
    const layer = { features: new Map<string, Row>(), attachments: new Map() }
    copy.set(id, layer)
    for (const { globalId, attributes, geometry, attachments = [] } of features) {
      layer.features.set(globalId, geometry === undefined ? { attributes } : { attributes, geometry })
      for (const file of attachments)
        layer.attachments.set(file.globalId, { parent: globalId, data: file.data })
    }
  }
  return copy
}
