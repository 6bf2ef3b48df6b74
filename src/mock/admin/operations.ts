import { type Route as AnyRoute, contentOf, schemaRef } from '../http/operation.ts'
import type { Webhook } from '../state/webhooks.ts'
import { isAtLeast } from '../versions.ts'
import type {
  Call,
  ContextOptions,
  Operation,
  RecordedAttempt,
  ResponseName,
  RootOperation,
  ServiceOperation,
  WebhookOperation,
} from './operation.ts'
import { errorsOf, type Family, HOSTED, PORTAL, SERVER_ADMIN, SERVICES } from './paths.ts'
import { PORTAL_SERVICE_OPERATIONS, PORTAL_WEBHOOK_OPERATIONS } from './portal/operations.ts'
import {
  COMMUNITY_SELF,
  GENERATE_TOKEN,
  OAUTH_TOKEN,
  PORTAL_INFO,
  PORTAL_TOKEN,
  PORTALS_SELF,
  SERVER_INFO,
} from './sign-in.ts'
import { SERVICE_OPERATIONS, SITE_OPERATIONS, WEBHOOK_OPERATIONS } from './webhook-operations.ts'

/** A webhook as hosted services write it (docs/senders.md, "Hosted feature services"). */
export type HostedWebhook = Omit<Webhook, 'id'> & { globalId: string; status?: string; success?: boolean }

function toHostedWebhook({ id, ...others }: Webhook & { status?: string }): HostedWebhook {
  const webhook = { globalId: id, ...others }
  return others.status === undefined ? webhook : { ...webhook, success: true }
}

/** The documentation has `success`; the released clients read `status`. */
const toHostedStatus = (body: object): object => ({ ...body, success: true })

interface HostedResponse {
  name: ResponseName
  convert(body: object, call: Call, webhookId: string): object
}

/** The responses of hosted services, by the response of the same operation on other services. */
const RESPONSES: {
  [name in ResponseName]?: {
    name: ResponseName
    convert(body: object, call: Call, webhookId: string): object
  }
} = {
  Webhook: { name: 'HostedWebhook', convert: (body) => toHostedWebhook(body as Webhook) },
  Webhooks: {
    name: 'HostedWebhooks',
    convert: (body) => (body as { webhooks: Webhook[] }).webhooks.map(toHostedWebhook),
  },
  Status: { name: 'HostedStatus', convert: toHostedStatus },
  NotificationStatus: { name: 'HostedNotificationStatus', convert: toHostedFailures },
}

/** Hosted services write the values as text, and add the response of the receiver. */
function toHostedFailures(body: object, { context }: Call, webhookId: string): object {
  const { webhookNotificationStatus } = body as { webhookNotificationStatus: { invokedTimestamp: number }[] }
  const attempts = context.attempts().filter((attempt) => attempt.webhookId === webhookId)
  return [
    {
      webhookNotificationStatus: webhookNotificationStatus.map(({ invokedTimestamp }) => ({
        invoked: 'false',
        invokedTimestamp: String(invokedTimestamp),
        serverResponse: responseBefore(invokedTimestamp, attempts),
      })),
    },
  ]
}

/** The response to the last attempt of a delivery that failed at this time; empty if the attempt log no longer contains it. */
function responseBefore(time: number, attempts: readonly RecordedAttempt[]): string {
  const attempt = attempts.findLast(({ sentAt }) => sentAt <= time)
  return attempt?.error ?? attempt?.answer?.body ?? ''
}

function hostedResponse(name: ResponseName): HostedResponse {
  const response = RESPONSES[name]
  if (!response) throw new Error(`hosted services have no response ${name}`)
  return response
}

/** The operations on the webhooks of feature services, with the responses of hosted services. */
const HOSTED_OPERATIONS: readonly (ServiceOperation | WebhookOperation)[] = [
  ...WEBHOOK_OPERATIONS.map((operation): WebhookOperation => {
    const { name, convert } = hostedResponse(operation.response)
    return {
      ...operation,
      response: name,
      async run(call) {
        const { body, changed } = await operation.run(call)
        return { changed, body: convert(body, call, call.webhook.id) }
      },
    }
  }),
  ...SERVICE_OPERATIONS.map((operation): ServiceOperation => {
    const { name, convert } = hostedResponse(operation.response)
    return {
      ...operation,
      response: name,
      async run(call) {
        const { body, changed } = await operation.run(call)
        return { changed, body: convert(body, call, '') }
      },
    }
  }),
]

/** A path of the administration, and its operation. */
export interface Route extends AnyRoute<Operation> {
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
    operation.paths.map((path) => toRoute(path, operation, SERVICES)),
  ),
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
    pathsOf(family, operation).map((path) => toRoute(path, operation, family)),
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

function toRoute(path: string, operation: Operation, family: Family): Route {
  const folder = path.includes('{folderName}') ? 'InFolder' : ''
  const short = path.startsWith('/services/{') && !path.includes('/webhooks') ? 'Short' : ''
  const suffix = operation.scope === 'root' ? otherPath(operation.paths, path) : folder + short
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
