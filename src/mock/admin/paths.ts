import type { ErrorOptions, PathNames } from '../http/operation.ts'
import type { ServiceType } from '../state/services.ts'

/** A set of paths for the operations on webhooks. */
export interface Family {
  /** Tells apart the operation ids of the OpenAPI document; empty for the paths of the specification. */
  name: string
  /** Path of the webhooks of the whole site; undefined if the family has none. */
  site?: string
  /** OpenAPI paths of the webhooks of a service: in the root folder, and in another folder. */
  webhooks: readonly [root: string, folder?: string]
  /** True if the last word of `webhooks` may be omitted before an id or an operation. */
  isWordOptional?: boolean
  /** Words that some clients write in other letter case. */
  anyCase?: readonly string[]
}

/** The paths of the specification (docs/specification.md, "Endpoints"). One edition omits the word `webhooks`. */
export const SERVICES: Family = {
  name: '',
  site: '/services/webhooks',
  webhooks: ['/services/{service}/webhooks', '/services/{folderName}/{service}/webhooks'],
  isWordOptional: true,
}

/** The paths of a server's administrator directory. */
export const SERVER_ADMIN: Family = {
  name: 'Admin',
  site: '/admin/services/webhooks',
  webhooks: ['/admin/services/{service}/webhooks', '/admin/services/{folderName}/{service}/webhooks'],
}

/** The paths of a hosted feature service, also for services that are not hosted. */
export const HOSTED: Family = {
  name: 'Hosted',
  webhooks: [
    '/rest/admin/services/{serviceName}/FeatureServer/WebHooks',
    '/rest/admin/services/{folderName}/{serviceName}/FeatureServer/WebHooks',
  ],
  anyCase: ['WebHooks'],
}

/** The paths of a portal's webhooks. Every `portalId` names the one portal of a mock. */
export const PORTAL: Family = {
  name: 'Portal',
  webhooks: ['/sharing/rest/portals/{portalId}/webhooks'],
}

/** The service that a path names, whether or not it exists. */
interface AddressedService {
  /** In the format of `servicePath`. */
  path: string
  serviceType: ServiceType
}

const serviceTypeOf = (part: string): ServiceType | undefined =>
  /.\.(FeatureServer|GPServer)$/s.exec(part)?.[1] as ServiceType | undefined

/** The service that the names in a path belong to. Paths with a `serviceName` are those of feature services. */
export function toAddressedService(names: PathNames): AddressedService | undefined {
  const { folderName, service, serviceName, portalId } = names
  if (portalId !== undefined) return { path: `${portalId}.Portal`, serviceType: 'Portal' }
  const name = serviceName === undefined ? service : `${serviceName}.FeatureServer`
  const serviceType = serviceTypeOf(name ?? '')
  if (name === undefined || !serviceType) return undefined
  return { path: folderName === undefined ? name : `${folderName}/${name}`, serviceType }
}

/** The paths of the portal and of hosted services have one format of errors, whatever the options say. */
export const errorsOf = (path: string, { errorFormat, httpStatus }: ErrorOptions): ErrorOptions => ({
  errorFormat: /^\/(rest|sharing)\//.test(path) ? 'error' : errorFormat,
  httpStatus,
})

const SERVER_INFO = '/rest/info'

/**
 * Returns the path that a client means. `@esri/arcgis-rest-request` adds `/rest/info` to whatever it takes for the root
 * of a server, which can end with a slash or be the path of an operation, and ends `oauth2/token` with a slash.
 */
export function toKnownPath(path: string): string {
  if (path.endsWith(SERVER_INFO) && !path.startsWith('/sharing/')) return SERVER_INFO
  return path.startsWith('/sharing/') && path.endsWith('/') ? path.slice(0, -1) : path
}
