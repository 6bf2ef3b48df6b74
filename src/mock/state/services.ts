import { randomUUID } from 'node:crypto'
import { configInvalid } from '../../errors.ts'
import { type ServiceName, WILDCARD } from '../../payload/events.ts'
import type { LayerSeed } from '../features/model.ts'

/** A geoprocessing or feature service, or the portal. */
export interface Service extends ServiceName {
  serviceType: ServiceType
}

/** The type of a service. */
export type ServiceType = 'FeatureServer' | 'GPServer' | 'Portal'

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

/** Id of the organization of hosted services, as in the payloads of `createPayload`. */
export const ORG_ID = 'myorgId'

/** Id of the portal of a mock if no webhook to start with names another. */
const PORTAL_ID = '0123456789ABCDEF'
const PORTAL: Service = Object.freeze({ folderName: '', serviceName: PORTAL_ID, serviceType: 'Portal' })

/** @throws {WebhookError} `config_invalid` for two portals, or a portal in a folder */
export function requireOnePortal(seeds: readonly ServiceSeed[]): void {
  const portals = seeds.filter(({ serviceType }) => serviceType === 'Portal').map(toService)
  const others = new Set(portals.map(servicePath))
  if (others.size > 1) throw configInvalid('a mock service has one portal; these seeds name several')
  if (portals[0] && portals[0].folderName !== '') throw configInvalid('a portal has no folderName')
}

/** Names a service. `serviceType` is required only if services of both types have this name. */
export type ServiceReference = Omit<ServiceSeed, 'serviceType' | 'layers'> & {
  serviceType?: ServiceType | undefined
}

export class ServiceRegistry {
  readonly #byPath = new Map<string, Service>()
  /** Services with the same name, in any folder and of any type. */
  readonly #byName = new Map<string, Service[]>()
  #portal = PORTAL

  list(): Service[] {
    return [...this.#byPath.values()]
  }

  /** @param path in the format of {@link servicePath} */
  find(path: string): Service | undefined {
    return this.#byPath.get(path)
  }

  /**
   * The portal, which all portal ids name. Unless a seed names it, it has a fixed id, and is not in the list before it
   * has a webhook.
   */
  portal(): Service {
    return this.#portal
  }

  add(service: Service): void {
    if (this.#byPath.has(servicePath(service))) return
    this.#byPath.set(servicePath(service), Object.freeze(service))
    const others = this.#byName.get(service.serviceName)
    if (others) others.push(service)
    else this.#byName.set(service.serviceName, [service])
  }

  /**
   * Finds the service that an event names.
   *
   * @throws {WebhookError} `config_invalid` for an unknown service, or if `serviceType` is missing but required
   */
  resolve({ folderName = '', serviceName, serviceType }: ServiceReference): Service {
    if (serviceType === 'Portal') return this.#portal
    const [found, other] = (this.#byName.get(serviceName) ?? []).filter(
      (service) =>
        service.folderName === folderName &&
        (serviceType === undefined || service.serviceType === serviceType),
    )
    if (found && !other) return found
    const name = `${folderName && `${folderName}/`}${serviceName}${serviceType ? `.${serviceType}` : ''}`
    throw configInvalid(found ? `serviceType is needed for ${name}` : `there is no service ${name}`)
  }

  restore(seeds: readonly ServiceSeed[]): void {
    this.#byPath.clear()
    this.#byName.clear()
    this.#portal = seeds.map(toService).find(({ serviceType }) => serviceType === 'Portal') ?? PORTAL
    for (const seed of seeds) this.add(toService(seed))
  }
}

/** Configuration of a portal's webhook. */
export interface PortalConfig {
  /** When failed deliveries deactivate the webhook. */
  deactivationPolicy: {
    /** 1 to 1000. */
    numberOfFailures: number
    /** 1 to 365. */
    daysInPast: number
  }
  /** Further settings, which the mock keeps and does not use. */
  properties?: Record<string, unknown>
}

/** The documented example (docs/senders.md, "Organization webhooks"). */
export const DEFAULT_PORTAL_CONFIG: PortalConfig = {
  deactivationPolicy: { numberOfFailures: 5, daysInPast: 5 },
}

/** The subscription to every event of a portal. */
export const ALL_OPERATIONS = '/'

/** Words for the objects of a portal: in triggers, and as the `source` of an event. */
const SOURCES = new Map([
  ['items', 'item'],
  ['groups', 'group'],
  ['users', 'user'],
])

/** An operation on an object of a portal. */
export interface PortalOperation {
  /** For example `update`. */
  operation: string
  /** `item`, `group` or `user`. */
  source: string
  /** Id of the object, or name of the user. */
  id: string
}

/**
 * Reads a change type such as `/items/add` or `/items/<id>/update`. An added object gets a new id.
 *
 * @returns undefined for text in another form
 */
export function toPortalOperation(changeType: string): PortalOperation | undefined {
  const [empty, objects = '', ...rest] = changeType.split('/')
  const source = SOURCES.get(objects)
  const [id, operation, ...more] =
    rest.length === 1 && rest[0] === 'add' ? [randomUUID().replaceAll('-', ''), 'add'] : rest
  if (empty !== '' || !source || !id || !operation || more.length > 0) return undefined
  return { operation, source, id }
}

/** The triggers that select a change type: the whole text, and each of its beginnings. */
export function portalSubscriptionsOf(changeType: string): string[] {
  const [, objects = '', id = ''] = changeType.split('/')
  return [changeType, `/${objects}/${id}`, `/${objects}`, ALL_OPERATIONS, WILDCARD]
}

/** True for `/`, `/items`, `/items/add`, `/items/<id>` and `/items/<id>/<operation>`, also of groups and users. */
export function isPortalTrigger(text: string): boolean {
  if (text === ALL_OPERATIONS) return true
  const [empty, objects = '', ...rest] = text.split('/')
  return empty === '' && SOURCES.has(objects) && rest.length <= 2 && rest.every((segment) => segment !== '')
}
