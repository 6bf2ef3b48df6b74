import { isAtLeast, type ServiceVersion } from '../versions.ts'
import type { Operation, ParameterDescription } from './operation.ts'
import type { Address } from './paths.ts'
import { SERVICE_OPERATIONS } from './service-operations.ts'
import { SITE_OPERATIONS } from './site-operations.ts'
import { GENERATE_TOKEN } from './tokens.ts'
import { WEBHOOK_OPERATIONS } from './webhook-operations.ts'

/** All operations. The router and the OpenAPI document are generated from this table. */
const OPERATIONS: readonly Operation[] = [
  ...WEBHOOK_OPERATIONS,
  ...SERVICE_OPERATIONS,
  ...SITE_OPERATIONS,
  GENERATE_TOKEN,
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

/** Returns the operations of a service of this version, without `generateToken` if `hasTokens` is false. */
export const operationsOf = (version: ServiceVersion, hasTokens: boolean): Operation[] =>
  OPERATIONS.filter(
    (operation) => isAtLeast(version, operation.since) && (operation !== GENERATE_TOKEN || hasTokens),
  )

/** The operation and the webhook that a path names. */
export interface Match {
  operation: Operation
  /** Id of the webhook, for an operation on one webhook. */
  id?: string
}

/** Returns a function that finds the operation of a path. The function returns undefined for other paths. */
export function createMatcher(operations: readonly Operation[]): (address: Address) => Match | undefined {
  const table = new Map(operations.map((operation) => [`${operation.scope} ${operation.segment}`, operation]))
  return (address) => {
    if (address.scope !== 'service') return toMatch(table.get(`${address.scope} ${address.operation}`))
    const [id = '', segment] = address.rest
    if (segment !== undefined) return toMatch(table.get(`webhook ${segment}`), id)
    const operation = table.get(`service ${id}`)
    return operation ? { operation } : toMatch(table.get('webhook '), id)
  }
}

const toMatch = (operation: Operation | undefined, id?: string): Match | undefined =>
  operation && { operation, ...(id === undefined ? {} : { id }) }
