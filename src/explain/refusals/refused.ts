import { tryJson } from '../../payload/json.ts'
import type { Cause } from '../causes.ts'
import { decodeAs } from '../text.ts'
import type { Finding } from '../types.ts'

/** A refused request, with everything that decides about it after the signature. */
export interface Refused {
  /** What the receiver's error says, as a phrase without a period. */
  message: string
  /** The cause of the receiver's error, such as the issues of a schema. */
  cause?: unknown
  /** Headers by lower-case name. */
  headers: ReadonlyMap<string, string>
  body: Uint8Array
  /** The receiver's keys. The evidence must not contain any of them. */
  keys: readonly Uint8Array[]
  method: string
  /** Path and query, or a whole URL. */
  url: string
  /** Maximum body size in bytes. */
  limit: number
  maxAge: number | undefined
  /** The receiver's clock, in milliseconds since 1970. */
  now: number
  /** Name of the signature header or form field, in lower case. */
  field: string
  /** Query parameter of handshakes. Undefined if the receiver does not answer handshakes. */
  parameter: string | undefined
}

/** One hypothesis: returns the evidence, a complete sentence, if it is certain that this is the cause. */
export type Reason<T> = readonly [cause: Cause, find: (value: T) => string | false | undefined]

/** Returns the first cause that is certain. */
export function findReason<T>(reasons: readonly Reason<T>[], value: T): Finding | undefined {
  for (const [cause, find] of reasons) {
    const evidence = find(value)
    if (evidence) return { cause, evidence }
  }
  return undefined
}

/** Writes a number with commas: 1048576 as 1,048,576. */
export const grouped = (value: number): string => value.toLocaleString('en-US')

/** Returns true for text that is a JSON object or array. */
export const isJson = (text: string | undefined): boolean =>
  text !== undefined && /^\s*[{[]/.test(text) && tryJson(text) !== undefined

export const isJsonBody = ({ body }: Refused): boolean => isJson(decodeAs(body, 'utf-8'))
