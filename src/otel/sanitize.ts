import type { WebhookError } from '../errors.ts'
import { errorChain } from '../platform/error-chain.ts'
import { causesOf } from '../receiver/observer.ts'
import { OTHER } from './names.ts'

/** Maximum number of recorded change types per delivery, and of recorded errors per failure. */
const MAX_LISTED = 16

/** Matches identifiers. Sentences and JSON contain other characters, and signed tokens such as JWTs are longer. */
const NAME = /^[\w.:$-]{1,64}$/

/** Matches error codes of Node, SQL databases and libraries: `ECONNREFUSED`, `ERR_X`, `23505`. */
const CODE = /^[A-Z0-9_]{1,40}$/

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'CONNECT', 'TRACE']

/** Replaces HTTP methods that are not in the list with one placeholder, because clients can send any text. */
export const sanitizeMethod = (method: string): string => (METHODS.includes(method) ? method : OTHER)

/** Replaces text from senders and services that is not an identifier. */
export const sanitizeName = (name: string): string => (NAME.test(name) ? name : OTHER)

/** Limits the number of change types, and replaces those that are not identifiers: clients can send any text. */
export function sanitizeChangeTypes(changeTypes: readonly string[]): string[] {
  const names = changeTypes.slice(0, MAX_LISTED).map(sanitizeName)
  return [...new Set(names)]
}

/** Returns the first causes of a WebhookError. */
export const firstCausesOf = (error: WebhookError): unknown[] =>
  causesOf(error)
    .slice(0, MAX_LISTED)
    .filter((thrown) => thrown !== undefined)

/**
 * Returns the class of a thrown value, and the first code of the value or its causes. The class is the constructor's
 * name: the message, the stack and `name` may quote a payload, so they are not read. A code is read only from errors,
 * because any other thrown object may itself be the payload.
 */
export function describeThrown(thrown: unknown): { type: string; code?: string } {
  if (typeof thrown !== 'object' || thrown === null) return { type: typeof thrown }
  try {
    const constructedBy: unknown = Object.getPrototypeOf(thrown)?.constructor
    const name: unknown = typeof constructedBy === 'function' ? constructedBy.name : undefined
    const errors = isError(thrown) ? [thrown as { code?: unknown }, ...errorChain(thrown)] : []
    const code = errors.map((error) => error.code).find((text) => typeof text === 'string' && CODE.test(text))
    const type = typeof name === 'string' && NAME.test(name) ? name : OTHER
    return typeof code === 'string' ? { type, code } : { type }
  } catch {
    return { type: OTHER } // a getter or a proxy that throws
  }
}

/** Returns true for errors, including errors from another realm, where `Error` is a different class. */
const isError = (thrown: object): boolean =>
  thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]'
