import type { ServiceName } from '../payload/event.ts'

/** A geoprocessing or feature service. */
export interface Service extends ServiceName {
  serviceType: 'FeatureServer' | 'GPServer'
}

/** A service to start with. */
export interface ServiceSeed {
  serviceName: string
  serviceType: 'FeatureServer' | 'GPServer'
  /** Default `''`, the root folder. */
  folderName?: string
}

export const toService = ({ folderName = '', serviceName, serviceType }: ServiceSeed): Service => ({
  folderName,
  serviceName,
  serviceType,
})

/** The service as it stands in a path: `[folder/]<serviceName>.<serviceType>` (specification, "Endpoints"). */
export const servicePath = ({ folderName, serviceName, serviceType }: Service): string =>
  `${folderName ? `${folderName}/` : ''}${serviceName}.${serviceType}`
