import { InspectorError } from '../../../inspector/http.ts'
import type { Feature, Layer } from '../../features/model.ts'
import type { Mock } from '../../service.ts'
import { type Service, servicePath } from '../../state/services.ts'

/** A layer that an entry of the panel names, for example `Parcels.FeatureServer/0`. */
export interface LayerEntry {
  service: Service
  layer: Layer
}

export const layerEntry = (service: Service, { id }: Layer): string => `${servicePath(service)}/${id}`

export const featureEntry = (service: Service, layer: Layer, { objectId }: Feature): string =>
  `${layerEntry(service, layer)}/${objectId}`

/** @throws {InspectorError} 404 */
export function findLayer({ state }: Mock, entry: string): LayerEntry {
  const slash = entry.lastIndexOf('/')
  const service = state.services.find(entry.slice(0, slash))
  const id = entry.slice(slash + 1)
  const layer =
    service?.serviceType === 'FeatureServer' && /^\d{1,15}$/.test(id)
      ? state.features.of(service).layers.get(Number(id))
      : undefined
  if (service && layer) return { service, layer }
  throw new InspectorError(404, 'This layer does not exist.')
}

/** @throws {InspectorError} 404 */
export function findFeature(mock: Mock, entry: string): LayerEntry & { feature: Feature } {
  const slash = entry.lastIndexOf('/')
  const { service, layer } = findLayer(mock, entry.slice(0, slash))
  const feature = layer.features.get(Number(entry.slice(slash + 1)))
  if (feature) return { service, layer, feature }
  throw new InspectorError(404, 'This feature does not exist. It may have been deleted.')
}
