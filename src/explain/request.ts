import type { ErrorCode } from '../errors.ts'
import { configInvalid } from '../errors.ts'
import { bodyFormat } from '../payload/parse.ts'
import { utf8 } from '../shared/bytes.ts'
import { isEmpty, type SignatureKeys, toKeyList } from '../signature/keyring.ts'
import { percentDecode, splitSignedForm } from '../signature/signature.ts'

/** The request to explain, as the caller of `explain` gives it. */
export interface GivenRequest {
  /**
   * The headers of the request. Names are case-insensitive. Without any of the headers
   * that every request has, such as host, the content type and the payload are not checked.
   * Default: none, to explain a code alone.
   */
  headers?:
    | Headers
    | Iterable<readonly [string, string]>
    | Readonly<Record<string, string | readonly string[] | undefined>>
    | undefined
  /** The method of the request. Default `'POST'`. */
  method?: string | undefined
  /** Path and query, or the whole URL. */
  url?: string | undefined
  /** Route parameters, for a key function. */
  params?: Head['params'] | undefined
  /** The IP address of the peer, for a key function. */
  remoteAddress?: string | undefined
}

/** A request without its body, as a key function gets it. */
export interface Head {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly params?: Readonly<Record<string, string | string[] | undefined>> | undefined
  readonly remoteAddress?: string | undefined
}

/** What is wrong with a request according to a receiver. */
export interface Refusal {
  code: ErrorCode
  /** What went wrong, as a phrase without a period. */
  message: string
  cause?: unknown
}

/** The request to explain, with the receiver's keys. */
export interface ReceivedRequest {
  /** The bytes that the signature should cover. */
  body: Uint8Array
  /** Headers by lower-case name. */
  headers: ReadonlyMap<string, string>
  /** Undefined if the caller does not know it. */
  method: string | undefined
  /** Path and query, or a whole URL. Undefined if the caller does not know it. */
  url: string | undefined
  /** Name of the signature header, in lower case. */
  headerName: string
  /** The signature as received; empty if it is missing. */
  value: string
  /** The signature after percent-decoding it once, as the receiver does. */
  decoded: string
  /** True if the signature is a form field. In this case, `body` is only the value of the payload field. */
  isInField: boolean
  /** The keys, newest first. A key that is blank, all zero bytes, null or undefined is replaced by an empty one. */
  keys: readonly Uint8Array[]
}

/** Reads the signature as the receiver does: from the header or, if it is missing, from the last field of a form. */
export function readRequest(
  { method, url }: GivenRequest,
  headers: ReadonlyMap<string, string>,
  body: Uint8Array,
  headerName: string,
  keys: readonly Uint8Array[],
): ReceivedRequest {
  const value = headers.get(headerName) ?? ''
  const isForm = value === '' && bodyFormat(headers.get('content-type')) === 'form'
  const form = isForm ? splitSignedForm(body, headerName) : undefined
  const found = form ? { body: form.signed, value: form.signature } : { body, value }
  return {
    ...found,
    decoded: percentDecode(found.value),
    isInField: !!form,
    headers,
    method,
    url,
    headerName,
    keys,
  }
}

/** Every request has at least one of these headers. */
const REQUEST_HEADERS = ['host', 'content-length', 'content-type', 'transfer-encoding', ':authority']

/** Returns false if the caller gives only some of the headers, and so asks only about the signature. */
export const isComplete = (headers: ReadonlyMap<string, string>): boolean =>
  REQUEST_HEADERS.some((name) => headers.has(name))

/**
 * If the caller gives only some of the headers, and the receiver could read the body, assumes JSON: services send it.
 */
export function withAssumedType(
  headers: ReadonlyMap<string, string>,
  code: string | undefined,
): ReadonlyMap<string, string> {
  if (isComplete(headers) || !code || !/^payload_|^delivery_stale$/.test(code)) return headers
  return new Map([...headers, ['content-type', 'application/json']])
}

/**
 * Joins the values of repeated headers with commas (RFC 9110 section 5.3).
 *
 * @throws {WebhookError} `config_invalid` for names that are not strings, and values that are not strings or numbers
 */
export function readHeaders(given: GivenRequest['headers']): ReadonlyMap<string, string> {
  const headers = given ?? {} // a caller in JavaScript may pass null
  if (typeof headers !== 'object')
    throw configInvalid('headers must be an object, a Headers or a list of pairs')
  const values = new Map<string, string[]>()
  for (const [name, value] of Symbol.iterator in headers ? headers : Object.entries(headers)) {
    if (value === undefined || value === null) continue
    if (typeof name !== 'string') throw configInvalid('headers: a name must be a string')
    const key = name.toLowerCase()
    const list = values.get(key) ?? []
    values.set(key, list)
    for (const item of [value].flat()) list.push(readValue(item))
  }
  return new Map(Array.from(values, ([name, list]) => [name, list.join(', ')]))
}

/** A caller in JavaScript may pass a number, such as the content length. */
function readValue(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw configInvalid('headers: a value must be a string or a list of strings')
  return String(value)
}

/** @throws {WebhookError} `config_invalid` for a key that is neither a string nor bytes */
export function readKeys(signatureKey: SignatureKeys | null | undefined): Uint8Array[] {
  const keys = toKeyList(signatureKey ?? [])
  if (!Array.isArray(keys)) throw configInvalid('signatureKey must be a string or bytes, or a list of them')
  return keys.map((key: unknown) => {
    if (key === undefined || key === null) return new Uint8Array()
    if (typeof key !== 'string' && !(key instanceof Uint8Array))
      throw configInvalid('signatureKey must be a string or bytes')
    if (isEmpty(key)) return new Uint8Array()
    return typeof key === 'string' ? utf8(key) : key
  })
}
