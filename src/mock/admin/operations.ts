import {
  type Route as AnyRoute,
  contentOf,
  type ErrorOptions,
  type PathNames,
  schemaRef,
} from '../http/operation.ts'
import type { ResolvedOptions } from '../options.ts'
import type { ServiceType } from '../state/services.ts'
import { isAtLeast } from '../versions.ts'
import { toHosted } from './hosted.ts'
import type { Operation } from './operation.ts'
import { ORGANIZATION_OPERATIONS, REASSIGN_SERVICE, REASSIGN_WEBHOOK } from './organization.ts'
import { PORTAL_SERVICE_OPERATIONS, PORTAL_WEBHOOK_OPERATIONS } from './portal/operations.ts'
import { SIGN_IN_OPERATIONS } from './sign-in.ts'
import { SERVICE_OPERATIONS, SITE_OPERATIONS, WEBHOOK_OPERATIONS } from './webhook-operations.ts'

/** A set of paths for the operations on webhooks. */
interface Family {
  /** Tells apart the operation ids of the OpenAPI document; empty for the paths of the specification. */
  name: string
  /** Path of the webhooks of the whole site; undefined if the family has none. */
  site?: string
  /** OpenAPI paths of the webhooks of a service: in the root folder, and in another folder. */
  webhooks: readonly string[]
  /** Words that some clients write in other letter case. */
  anyCase?: readonly string[]
}

/** The paths of the specification (docs/specification.md, "Endpoints"). One edition omits the word `webhooks`. */
const SERVICES: Family = {
  name: '',
  site: '/services/webhooks',
  webhooks: ['/services/{service}/webhooks', '/services/{folderName}/{service}/webhooks'],
}

/** The paths of a server's administrator directory. */
const SERVER_ADMIN: Family = {
  name: 'Admin',
  site: '/admin/services/webhooks',
  webhooks: ['/admin/services/{service}/webhooks', '/admin/services/{folderName}/{service}/webhooks'],
}

/** The paths of hosted feature services, also for services that are not hosted. */
const HOSTED: Family = {
  name: 'Hosted',
  site: '/rest/admin/WebHooks',
  webhooks: [
    '/rest/admin/services/{serviceName}/FeatureServer/WebHooks',
    '/rest/admin/services/{folderName}/{serviceName}/FeatureServer/WebHooks',
  ],
  anyCase: ['WebHooks', 'webhookSettings'],
}

/** The paths of a portal's webhooks. Every `portalId` names the one portal of a mock. */
const PORTAL: Family = { name: 'Portal', webhooks: ['/sharing/rest/portals/{portalId}/webhooks'] }

/**
 * Returns type and path, in the format of `servicePath`, of the service that the names in a path belong to, whether or not
 * it exists. Paths with a `serviceName` are those of feature services.
 */
export function toAddressedService(names: PathNames): { path: string; serviceType: ServiceType } | undefined {
  const { folderName, service, serviceName, portalId } = names
  if (portalId !== undefined) return { path: `${portalId}.Portal`, serviceType: 'Portal' }
  const name = serviceName === undefined ? service : `${serviceName}.FeatureServer`
  const serviceType = /.\.(FeatureServer|GPServer)$/s.exec(name ?? '')?.[1] as ServiceType | undefined
  if (name === undefined || !serviceType) return undefined
  return { path: folderName === undefined ? name : `${folderName}/${name}`, serviceType }
}

/** The paths of the portal and of hosted services have one format of errors, whatever the options say. */
export const errorsOf = (path: string, { errorFormat, httpStatus }: ErrorOptions): ErrorOptions => ({
  errorFormat: /^\/(rest|sharing)\//.test(path) ? 'error' : errorFormat,
  httpStatus,
})

const INFO_PATH = '/rest/info'

/**
 * Returns the path that a client means. `@esri/arcgis-rest-request` adds `/rest/info` to whatever it takes for the root
 * of a server, which can end with a slash or be the path of an operation, and ends `oauth2/token` with a slash.
 */
export function toKnownPath(path: string): string {
  if (path.endsWith(INFO_PATH) && !path.startsWith('/sharing/')) return INFO_PATH
  return path.startsWith('/sharing/') && path.endsWith('/') ? path.slice(0, -1) : path
}

const REASSIGN_HOSTED = toHosted(REASSIGN_WEBHOOK)

export interface Route extends AnyRoute<Operation> {
  family: Family
}

const SERVER_OPERATIONS: readonly Exclude<Operation, { scope: 'root' }>[] = [
  ...WEBHOOK_OPERATIONS,
  ...SERVICE_OPERATIONS,
  ...SITE_OPERATIONS,
]

/** All routes. The router and the OpenAPI document are generated from this table. */
const ROUTES: readonly Route[] = [
  ...[SERVICES, SERVER_ADMIN].flatMap((family) => routesOfFamily(family, SERVER_OPERATIONS)),
  ...routesOfFamily(HOSTED, [
    ...[...WEBHOOK_OPERATIONS, ...SERVICE_OPERATIONS, REASSIGN_SERVICE].map(toHosted),
    ...ORGANIZATION_OPERATIONS,
  ]),
  ...[...HOSTED.webhooks, HOSTED.site].map((path) =>
    toRoute(`${path}/{webhookId}/reassignOwner`, REASSIGN_HOSTED, HOSTED),
  ),
  ...routesOfFamily(PORTAL, [...PORTAL_SERVICE_OPERATIONS, ...PORTAL_WEBHOOK_OPERATIONS]),
  ...SIGN_IN_OPERATIONS.flatMap((operation) =>
    operation.paths.map((path) => toRoute(path, operation, SERVICES)),
  ),
]

/** Returns the routes of a service: those of its version that its `auth` supports. */
export const routesOf = ({ version, auth }: Pick<ResolvedOptions, 'version' | 'auth'>): Route[] =>
  ROUTES.filter(({ operation }) => {
    if (!isAtLeast(version, operation.since)) return false
    return operation.scope !== 'root' || !operation.needs || auth?.[operation.needs] !== undefined
  })

/** The paths of operations in a family: with and without a folder, with and without the optional word. */
function routesOfFamily(family: Family, operations: typeof SERVER_OPERATIONS): Route[] {
  return operations.flatMap((operation) =>
    pathsOf(family, operation).map((path) => toRoute(path, operation, family)),
  )
}

function pathsOf(family: Family, operation: (typeof SERVER_OPERATIONS)[number]): string[] {
  const { name, site, webhooks } = family
  const { scope, segment = operation.name } = operation
  const last = segment === '' ? '' : `/${segment}`
  if (scope === 'site') return site === undefined ? [] : [site + last]
  const below = (scope === 'webhook' ? '/{webhookId}' : '') + last
  // Without the word `webhooks`, a path with nothing below would name the service itself.
  const isShort = name === SERVICES.name && below !== ''
  const short = isShort ? webhooks.map((path) => path.replace('/webhooks', '')) : []
  return [...webhooks, ...short].map((path) => path + below)
}

function toRoute(path: string, operation: Operation, family: Family): Route {
  const folder = path.includes('{folderName}') ? 'InFolder' : ''
  const any = operation.scope === 'webhook' && path.startsWith(`${HOSTED.site}/`) ? 'OfAnyService' : ''
  const short = path.startsWith('/services/{') && !path.includes('/webhooks') ? 'Short' : ''
  const suffix = operation.scope === 'root' ? otherPath(operation.paths, path) : folder + short + any
  const idOf = (method: string): string =>
    `${operation.name}${family.name}${method === 'GET' ? 'ByGet' : ''}${suffix}`
  return {
    path,
    operation,
    family,
    tag: 'administration',
    idOf,
    responsesOf: (given) => {
      const errors = errorsOf(path, given)
      const failure = errors.errorFormat === 'error' ? 'ErrorObject' : 'Error'
      const success = schemaRef(operation.response)
      const schema = errors.httpStatus === 'rest' ? success : { anyOf: [success, schemaRef(failure)] }
      return {
        200: { description: operation.summary, content: contentOf(schema) },
        default: { $ref: `#/components/responses/${failure}` },
      }
    },
    ...(family.anyCase && { anyCase: family.anyCase }),
  }
}

/** A word for each path of an operation except the first. */
function otherPath([first]: readonly string[], path: string): string {
  if (path === first) return ''
  const words = path.split('/').map((segment) => segment.slice(0, 1).toUpperCase() + segment.slice(1))
  return words.join('').replace(/\W/g, '')
}
