import { InvalidArgumentError } from 'commander'
import type { RandomFeature, RandomLayer } from '../../mock/index.ts'
import { toRecord } from '../io/json.ts'
import { notAService, type ServiceClient } from './client.ts'
import { type ServicePath, servicePath } from './webhooks.ts'

/** Parses the name of a feature service; its type can be left out. */
export function featureServicePath(value: string): ServicePath {
  const [, folderName = '', serviceName = ''] = /^(?:([^/]+)\/)?([^/]+)$/.exec(value) ?? []
  if (serviceName !== '' && !/\.(FeatureServer|GPServer)$/.test(serviceName))
    return { folderName, serviceName, serviceType: 'FeatureServer' }
  const service = servicePath(value)
  if (service.serviceType === 'FeatureServer') return service
  throw new InvalidArgumentError('must be a feature service, for example Parcels or folder/Parcels')
}

/** Returns the URL path of a feature service. */
export function featureServerPath({ folderName, serviceName }: ServicePath): string {
  const folder = folderName ? `${encodeURIComponent(folderName)}/` : ''
  return `/rest/services/${folder}${encodeURIComponent(serviceName)}/FeatureServer`
}

/** The description of a layer. The members below are validated. */
export type Layer = Omit<RandomLayer, 'features'>

/** @param path of the layer */
export async function getLayer(client: ServiceClient, path: string, id: number): Promise<Layer> {
  const layer = await client.get(path)
  const { objectIdField, geometryType } = layer
  if (!Array.isArray(layer.fields)) throw notAService('the response does not describe a layer')
  const fields = layer.fields.flatMap((value) => {
    const { name, type, length, nullable, editable, domain } = toRecord(value) ?? {}
    if (typeof name !== 'string' || typeof type !== 'string') return []
    return {
      name,
      type,
      length: typeof length === 'number' ? length : undefined,
      nullable: nullable !== false,
      editable: editable !== false,
      domain: toRecord(domain),
    }
  })
  return {
    id,
    fields,
    objectIdField:
      typeof objectIdField === 'string'
        ? objectIdField
        : (fields.find(({ type }) => type === 'esriFieldTypeOID')?.name ?? 'OBJECTID'),
    geometryType: typeof geometryType === 'string' ? geometryType : undefined,
  }
}

/** Lists the object ids and geometries of a layer, up to the maximum of the service. */
export async function getFeatures(
  client: ServiceClient,
  path: string,
  { objectIdField }: Layer,
): Promise<RandomFeature[]> {
  const { features } = await client.postForm(`${path}/query`, {
    where: '1=1',
    outFields: objectIdField,
    orderByFields: objectIdField,
    returnGeometry: 'true',
  })
  if (!Array.isArray(features)) throw notAService('the response has no features')
  return features.flatMap((value) => {
    const feature = toRecord(value)
    const attributes = toRecord(feature?.attributes)
    const geometry = toRecord(feature?.geometry)
    return attributes ? [{ attributes, ...(geometry ? { geometry } : {}) }] : []
  })
}

/** Returns the current generation of a layer; undefined if the service does not say it. */
export async function getGeneration(
  client: ServiceClient,
  path: string,
  layerId: number,
): Promise<number | undefined> {
  const { changeTrackingInfo } = await client
    .get(path, { returnUpdates: 'true' })
    .catch(() => ({}) as Record<string, unknown>)
  const { layerServerGens } = toRecord(changeTrackingInfo) ?? {}
  if (!Array.isArray(layerServerGens)) return undefined
  const found = layerServerGens.map(toRecord).find((layer) => layer?.id === layerId)
  return typeof found?.serverGen === 'number' ? found.serverGen : undefined
}
