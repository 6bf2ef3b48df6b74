import { configInvalid } from '../../errors.ts'
import type { ServiceName } from '../../payload/event.ts'
import type { LayerSeed } from '../features/seed-types.ts'

/** A geoprocessing or feature service. */
export interface Service extends ServiceName {
  serviceType: ServiceType
}

/** The type of a service. */
export type ServiceType = 'FeatureServer' | 'GPServer'

/** A service to start with. */
export interface ServiceSeed {
  serviceName: string
  serviceType: ServiceType
  /** Default `''`, the root folder. */
  folderName?: string | undefined
  /** Layers of a feature service, at most 100. Default: one layer of points without features. */
  layers?: readonly LayerSeed[] | undefined
}

export const toService = ({ folderName = '', serviceName, serviceType }: ServiceSeed): Service => ({
  folderName,
  serviceName,
  serviceType,
})

/** The service as part of a path: `[folder/]<serviceName>.<serviceType>` (docs/specification.md, "Endpoints"). */
export const servicePath = ({ folderName, serviceName, serviceType }: Readonly<Service>): string =>
  `${folderName ? `${folderName}/` : ''}${serviceName}.${serviceType}`

/** The services of a mock. */
export interface ServiceRegistry {
  list(): Service[]
  /** @param path in the format of {@link servicePath} */
  find(path: string): Service | undefined
  /**
   * Finds the service that an event names.
   *
   * @throws {WebhookError} `config_invalid` for an unknown service, or if `serviceType` is missing but required
   */
  resolve(name: ServiceReference): Service
  restore(services: readonly ServiceSeed[]): void
}

/** Names a service. `serviceType` is required only if services of both types have this name. */
export type ServiceReference = Omit<ServiceSeed, 'serviceType' | 'layers'> & {
  serviceType?: ServiceType | undefined
}

export function createServiceRegistry(): ServiceRegistry {
  const byPath = new Map<string, Service>()
  /** Services with the same name, in any folder and of any type. */
  const byName = new Map<string, Service[]>()
  return {
    list: () => [...byPath.values()],
    find: (path) => byPath.get(path),
    resolve({ folderName = '', serviceName, serviceType }) {
      const [found, other] = (byName.get(serviceName) ?? []).filter(
        (service) =>
          service.folderName === folderName &&
          (serviceType === undefined || service.serviceType === serviceType),
      )
      if (found && !other) return found
      const name = `${folderName && `${folderName}/`}${serviceName}${serviceType ? `.${serviceType}` : ''}`
      throw configInvalid(found ? `serviceType is needed for ${name}` : `there is no service ${name}`)
    },
    restore(seeds) {
      byPath.clear()
      byName.clear()
      for (const service of seeds.map(toService)) byPath.set(servicePath(service), Object.freeze(service))
      for (const service of byPath.values()) {
        const others = byName.get(service.serviceName)
        if (others) others.push(service)
        else byName.set(service.serviceName, [service])
      }
    },
  }
}
