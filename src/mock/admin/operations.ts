import { reaches, type ServiceVersion } from '../versions.ts'
import type { Operation, ParameterDescription } from './operation.ts'
import type { Address } from './paths.ts'
import { SERVICE_OPERATIONS } from './service-operations.ts'
import { SITE_OPERATIONS } from './site-operations.ts'
import { GENERATE_TOKEN } from './token-operation.ts'
import { WEBHOOK_OPERATIONS } from './webhook-operations.ts'

/** Every operation: the router and the documentation are both made from this table. */
const OPERATIONS: readonly Operation[] = [
  ...WEBHOOK_OPERATIONS,
  ...SERVICE_OPERATIONS,
  ...SITE_OPERATIONS,
  GENERATE_TOKEN,
]

/** What every operation takes beside its own parameters. */
export const COMMON_PARAMETERS: readonly ParameterDescription[] = [
  {
    name: 'f',
    required: false,
    description: 'The format of the answer. Default: html for browsers, else json.',
    schema: { type: 'string', enum: ['json', 'pjson', 'html'] },
  },
  {
    name: 'token',
    required: false,
    description: 'Who asks, where the service has tokens. A header can carry it too.',
    schema: { type: 'string' },
  },
]

/** The operations that a service has. */
export const operationsOf = (version: ServiceVersion, hasTokens: boolean): Operation[] =>
  OPERATIONS.filter(
    (operation) => reaches(version, operation.since) && (operation !== GENERATE_TOKEN || hasTokens),
  )

/** An operation, and the webhook that a path names. */
export interface Match {
  operation: Operation
  /** Where the operation is on one webhook. */
  id?: string
}

/** Finds the operation that a path names. */
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
