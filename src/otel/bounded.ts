import type { WebhookError } from '../errors.ts'
import { OTHER } from './names.ts'

/** Change types of one delivery, and errors of one failure, at most. */
const MAX_LISTED = 16

/** What a programmer would call something. A sentence, JSON or a token with a signature is none. */
const NAME = /^[\w.:$-]{1,64}$/

/** Error codes as Node, SQL databases and libraries write them: `ECONNREFUSED`, `ERR_X`, `23505`. */
const CODE = /^[A-Z0-9_]{1,40}$/

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'CONNECT', 'TRACE']

/** A method of HTTP; anything else that a stranger sends is one value. */
export const boundedMethod = (method: string): string => (METHODS.includes(method) ? method : OTHER)

/** Change types come from the sender: few, and only those that are names. */
export function boundedChangeTypes(changeTypes: readonly string[]): string[] {
  const names = changeTypes.slice(0, MAX_LISTED).map((name) => (NAME.test(name) ? name : OTHER))
  return [...new Set(names)]
}

/** What was thrown behind an error of ours. */
export function thrownBehind({ cause }: WebhookError): unknown[] {
  const thrown: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause]
  return thrown.slice(0, MAX_LISTED).filter((one) => one !== undefined)
}

/**
 * The class and the code of something thrown. Its message, its stack and its `name` may quote a payload, and it may be
 * the payload: the class is what made it, not what it says of itself, and only errors have codes.
 */
export function describeThrown(thrown: unknown): { type: string; code?: string } {
  if (typeof thrown !== 'object' || thrown === null) return { type: typeof thrown }
  try {
    const made: unknown = Object.getPrototypeOf(thrown)?.constructor
    const name: unknown = typeof made === 'function' ? made.name : undefined
    const code: unknown = isError(thrown) ? (thrown as { code?: unknown }).code : undefined
    const type = typeof name === 'string' && NAME.test(name) ? name : OTHER
    return typeof code === 'string' && CODE.test(code) ? { type, code } : { type }
  } catch {
    return { type: OTHER } // a getter or a proxy that throws
  }
}

/** Also of another realm, whose `Error` is another one. */
const isError = (thrown: object): boolean =>
  thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]'
