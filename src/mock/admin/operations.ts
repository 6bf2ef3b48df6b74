import { isAtLeast } from '../versions.ts'
import { HOSTED_OPERATIONS } from './hosted-operations.ts'
import type { ContextOptions, Operation, ParameterDescription, RootOperation } from './operation.ts'
import {
  type Address,
  compareTemplates,
  decodeSegments,
  type Family,
  HOSTED,
  matchSegments,
  type PathNames,
  PORTAL,
  SERVER_ADMIN,
  SERVICES,
  toAddressedService,
} from './paths.ts'
import { PORTAL_SERVICE_OPERATIONS } from './portal/service-operations.ts'
import { PORTAL_WEBHOOK_OPERATIONS } from './portal/webhook-operations.ts'
import { SERVICE_OPERATIONS } from './service-operations.ts'
import { GENERATE_TOKEN, PORTAL_TOKEN } from './sign-in/generate-token.ts'
import { OAUTH_TOKEN } from './sign-in/oauth-token.ts'
import { COMMUNITY_SELF, PORTAL_INFO, PORTALS_SELF, SERVER_INFO } from './sign-in/portal.ts'
import { SITE_OPERATIONS } from './site-operations.ts'
import { WEBHOOK_OPERATIONS } from './webhook-operations.ts'

/** A path of the administration, and its operation. */
export interface Route {
  /** OpenAPI path, for example `/services/{service}/webhooks/{webhookId}/edit`. */
  path: string
  operation: Operation
  family: Family
}

/** Operations that name their own paths. */
const ROOT_OPERATIONS: readonly RootOperation[] = [
  GENERATE_TOKEN,
  PORTAL_TOKEN,
  OAUTH_TOKEN,
  SERVER_INFO,
  PORTAL_INFO,
  COMMUNITY_SELF,
  PORTALS_SELF,
]

const SERVER_OPERATIONS: readonly Exclude<Operation, { scope: 'root' }>[] = [
  ...WEBHOOK_OPERATIONS,
  ...SERVICE_OPERATIONS,
  ...SITE_OPERATIONS,
]

/** All routes. The router and the OpenAPI document are generated from this table. */
const ROUTES: readonly Route[] = [
  ...[SERVICES, SERVER_ADMIN].flatMap((family) => routesOfFamily(family, SERVER_OPERATIONS)),
  ...routesOfFamily(HOSTED, HOSTED_OPERATIONS),
  ...routesOfFamily(PORTAL, [...PORTAL_SERVICE_OPERATIONS, ...PORTAL_WEBHOOK_OPERATIONS]),
  ...ROOT_OPERATIONS.flatMap((operation) =>
    operation.paths.map((path) => ({ path, operation, family: SERVICES })),
  ),
]

/** Parameters of every operation. */
export const COMMON_PARAMETERS: readonly ParameterDescription[] = [
  {
    name: 'f',
    required: false,
    description: 'Format of the response. Default: html for browsers, otherwise json.',
    schema: { type: 'string', enum: ['json', 'pjson', 'html'] },
  },
  {
    name: 'token',
    required: false,
    description: 'The token of the user, if the service uses tokens. A header can carry it too.',
    schema: { type: 'string' },
  },
]

/** Returns the routes of a service: those of its version that its `auth` supports. */
export const routesOf = ({ version, auth }: Pick<ContextOptions, 'version' | 'auth'>): Route[] =>
  ROUTES.filter(({ operation }) => {
    if (!isAtLeast(version, operation.since)) return false
    return operation.scope !== 'root' || !operation.needs || auth?.[operation.needs] !== undefined
  })

/** The paths of operations in a family: with and without a folder, with and without the optional word. */
function routesOfFamily(family: Family, operations: typeof SERVER_OPERATIONS): Route[] {
  return operations.flatMap((operation) =>
    pathsOf(family, operation).map((path) => ({ path, operation, family })),
  )
}

function pathsOf(
  { site, webhooks, isWordOptional = false }: Family,
  { scope, segment }: (typeof SERVER_OPERATIONS)[number],
): string[] {
  const last = segment === '' ? '' : `/${segment}`
  if (scope === 'site') return site === undefined ? [] : [site + last]
  const below = (scope === 'webhook' ? '/{webhookId}' : '') + last
  // Without the word, a path with nothing below would name the service itself.
  const isShort = isWordOptional && below !== ''
  const paths = webhooks.filter((path) => path !== undefined)
  const short = isShort ? paths.map((path) => path.slice(0, path.lastIndexOf('/'))) : []
  return [...paths, ...short].map((path) => path + below)
}

/** What a path names. */
export interface Match {
  operation: Operation
  address: Address
  /** The names in the path, decoded. */
  names: PathNames
  /** Id of the webhook, for an operation on one webhook. */
  id?: string | undefined
}

/**
 * Returns a function that finds the operation of a path. The function returns undefined for other paths. In
 * `webhooks/<word>`, the word is an operation if the service has one with this name, otherwise a webhook id.
 */
export function createMatcher(routes: readonly Route[]): (path: string) => Match | undefined {
  const table = new Map<number, { template: string[]; route: Route }[]>()
  for (const route of routes) {
    const template = route.path.slice(1).split('/')
    table.set(template.length, [...(table.get(template.length) ?? []), { template, route }])
  }
  for (const entries of table.values()) entries.sort((a, b) => compareTemplates(a.template, b.template))
  return (path) => {
    const segments = decodeSegments(path) ?? []
    for (const { template, route } of table.get(segments.length) ?? []) {
      const names = matchSegments(segments, template)
      if (names) return toMatch(route, names)
    }
    return undefined
  }
}

function toMatch({ operation, family }: Route, names: PathNames): Match {
  const service = toAddressedService(names)
  const address = service ? { family, service } : { family }
  return { operation, address, names, id: names.webhookId }
}
