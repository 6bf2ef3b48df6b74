import { configInvalid } from '../../errors.ts'
import type { ServiceName } from '../../payload/event.ts'
import { perObject } from '../memoize.ts'

/** A geoprocessing or feature service. */
export interface Service extends ServiceName {
  serviceType: ServiceType
}

export type ServiceType = 'FeatureServer' | 'GPServer'

/** A service to start with. */
export interface ServiceSeed {
  serviceName: string
  serviceType: ServiceType
  /** Default `''`, the root folder. */
  folderName?: string | undefined
}

export const toService = ({ folderName = '', serviceName, serviceType }: ServiceSeed): Service => ({
  folderName,
  serviceName,
  serviceType,
})

/** The service as it stands in a path: `[folder/]<serviceName>.<serviceType>` (specification, "Endpoints"). */
export const servicePath: (service: Readonly<Service>) => string = perObject(
  ({ folderName, serviceName, serviceType }) =>
    `${folderName ? `${folderName}/` : ''}${serviceName}.${serviceType}`,
)

/** The services of a mock. */
export interface ServiceRegistry {
  list(): Service[]
  /** @param path as {@link servicePath} writes it */
  find(path: string): Service | undefined
  /**
   * The one service that is meant.
   *
   * @throws {WebhookError} `config_invalid` where there is none, or both types share the name
   */
  resolve(name: ServiceReference): Service
  restore(services: readonly ServiceSeed[]): void
}

/** A service by its name; `serviceType` is needed where both types share it. */
export type ServiceReference = Omit<ServiceSeed, 'serviceType'> & { serviceType?: ServiceType | undefined }

export function createServiceRegistry(): ServiceRegistry {
  const services = new Map<string, Service>()
  /** Of each name, in all folders. */
  const named = new Map<string, Service[]>()
  return {
    list: () => [...services.values()],
    find: (path) => services.get(path),
    resolve({ folderName = '', serviceName, serviceType }) {
      const [found, other] = (named.get(serviceName) ?? []).filter(
        (service) =>
          service.folderName === folderName &&
          (serviceType === undefined || service.serviceType === serviceType),
      )
      if (found && !other) return found
      const name = `${folderName && `${folderName}/`}${serviceName}${serviceType ? `.${serviceType}` : ''}`
      throw configInvalid(found ? `serviceType is needed for ${name}` : `there is no service ${name}`)
    },
    restore(seeds) {
      services.clear()
      named.clear()
      for (const service of seeds.map(toService)) services.set(servicePath(service), Object.freeze(service))
      for (const service of services.values()) {
        const others = named.get(service.serviceName)
        if (others) others.push(service)
        else named.set(service.serviceName, [service])
      }
    },
  }
}
