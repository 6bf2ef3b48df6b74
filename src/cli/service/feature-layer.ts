import { InvalidArgumentError } from 'commander'
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

/** @param path of the layer */
export async function getObjectIdField(client: ServiceClient, path: string): Promise<string> {
  const { objectIdField, fields } = await client.get(path)
  if (!Array.isArray(fields)) throw notAService('the response does not describe a layer')
  if (typeof objectIdField === 'string') return objectIdField
  const name = fields.map(toRecord).find((field) => field?.type === 'esriFieldTypeOID')?.name
  return typeof name === 'string' ? name : 'OBJECTID'
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
