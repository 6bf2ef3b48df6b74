import { configInvalid } from '../errors.ts'
import { bodyFormat } from '../payload/parse.ts'
import type { KeyFunction, ReceiverOptions, RequestHead } from '../receiver/types.ts'
import { utf8 } from '../shared/bytes.ts'
import {
  findKeyError,
  isEmpty,
  type ReadKeys,
  type ReturnedKeys,
  readReturned,
  type SignatureKeys,
  type TenantKeys,
  toKeyList,
} from '../signature/keyring.ts'
import { percentDecode, type SignatureEncoding, splitSignedForm } from '../signature/signature.ts'
import type { RefusalCode } from './causes.ts'
import { type Finding, found, type GivenRequest } from './types.ts'

/** The request as the caller gives it, with the bytes of its body. */
export type ReadRequest = GivenRequest & { body: Uint8Array | undefined }

/** What is to explain: a request, and what decides about it before its body is read. */
export interface Context {
  request: ReadRequest
  /** Options of the receiver that refused the request. */
  options: Partial<ReceiverOptions>
  isThorough: boolean
  code: RefusalCode | undefined
  headers: ReadonlyMap<string, string>
  /** Name of the header or form field with the signature, or of the header with the key, in lower case. */
  field: string
  /** True if senders send the key itself. */
  isSecret: boolean
  encoding: SignatureEncoding
  now: number
  /** Query parameter of handshakes, if the profile has them. */
  parameter: string | undefined
}

/** The request to explain, with the receiver's keys. */
export interface ReceivedRequest {
  /** The bytes that the signature should cover. */
  body: Uint8Array
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
  { request: { method, url }, headers, field: headerName }: Context,
  body: Uint8Array,
  keys: readonly Uint8Array[],
): ReceivedRequest {
  const value = headers.get(headerName) ?? ''
  const isForm = value === '' && bodyFormat(headers.get('content-type')) === 'form'
  const form = isForm ? splitSignedForm(body, headerName) : undefined
  const signed = form ? { body: form.signed, value: form.signature } : { body, value }
  const decoded = percentDecode(signed.value)
  return { ...signed, decoded, isInField: !!form, headers, method, url, headerName, keys }
}

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
    for (const item of [value].flat()) {
      // A caller in JavaScript may pass a number, such as the content length.
      if (typeof item !== 'string' && typeof item !== 'number')
        throw configInvalid('headers: a value must be a string or a list of strings')
      list.push(String(item))
    }
  }
  return new Map(Array.from(values, ([name, list]) => [name, list.join(', ')]))
}

/** @throws {WebhookError} `config_invalid` for a key that is neither a string nor bytes */
function readKeys(signatureKey: SignatureKeys | null | undefined): Uint8Array[] {
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

/** Returns a random key, for questions that do not depend on the key. */
export const createDecoy = (): Uint8Array => utf8(crypto.randomUUID())

/** The keys of the receiver that refused the request. */
export interface KeySource {
  /** Option of the receiver that `explain` asks. A key function calls that of the caller, and records its result. */
  signatureKey: readonly Uint8Array[] | KeyFunction
  /** The keys for the request. Empty without a key, or before the receiver calls the key function. */
  keys: readonly Uint8Array[]
  /** Why the receiver has no key for the request, if it has called the key function. */
  finding?: Finding | undefined
  /** False if the key function failed, or returned an object without a valid tenant. */
  isNamed: boolean
  /** Calls the key function if the receiver has not called it. Returns the keys. */
  read(head: RequestHead): Promise<readonly Uint8Array[]>
}

export function createKeySource(
  { signatureKey: given, unsigned }: Partial<ReceiverOptions>,
  url = '/',
): KeySource {
  if (typeof given !== 'function') {
    const keys = readKeys(given as SignatureKeys | undefined) // `diagnose` has read the file of a keyring
    // As the receiver does. The keys are bytes, because a receiver rejects text with white space around it.
    const signatureKey = unsigned === 'accept' && given === undefined ? () => null : keys
    return { signatureKey, keys, isNamed: true, read: async () => keys }
  }
  let isCalled = false
  const call = async (head: RequestHead): Promise<ReturnedKeys> => {
    isCalled = true
    source.finding = found('key_unavailable', 'The signatureKey function throws or rejects for this request.')
    const returned = await given(head)
    const read = readReturned(returned)
    source.isNamed = !read.error
    source.finding = findInvalid(read, returned, url)
    source.keys = source.finding ? [] : readKeys(read.keys)
    return returned
  }
  const source: KeySource = {
    signatureKey: call,
    keys: [],
    isNamed: false,
    async read(head) {
      if (!isCalled) await call(head).catch(() => {})
      return source.keys
    },
  }
  return source
}

/** Explains what a key function has returned, unless the receiver can use it. */
function findInvalid(
  { keys, tenant, error }: ReadKeys,
  returned: ReturnedKeys,
  url: string,
): Finding | undefined {
  const keyError = error ?? (keys && findKeyError(keys, true))
  const returns = 'signatureKey function returns'
  if (keyError) return found('key_invalid', `The receiver rejects what the ${returns}: ${keyError.message}.`)
  if (keys) return undefined
  const given = tenant === undefined ? returned : (returned as TenantKeys).keys
  const what =
    given === null || given === undefined ? String(given) : given === '' ? 'an empty text' : 'an empty list'
  const name = tenant === undefined ? '' : ' and the name of a tenant'
  return found('key_unknown', `The ${returns} ${what}${name} for ${describePath(url)}.`)
}

/** Finds a key that is empty. Its signatures could match those of a sender whose key is empty too. */
export function findEmptyKey({ signatureKey }: KeySource): Finding | undefined {
  if (typeof signatureKey === 'function') return undefined
  if (signatureKey.length > 0 && signatureKey.every((key) => key.length > 0)) return undefined
  const subject = signatureKey.length > 1 ? 'One of the keys' : 'The key'
  return found('key_empty', `${subject} on this side is empty, blank, all zero bytes, or not set.`)
}

/** Explains keys with which no receiver can be created, although a signature may match. */
export function findRejectedKeys({ signatureKey }: Partial<ReceiverOptions>): Finding | undefined {
  if (typeof signatureKey === 'function' || signatureKey === undefined || signatureKey === null)
    return undefined
  const error = findKeyError(toKeyList(signatureKey as SignatureKeys), true)
  return error && found('key_invalid', `A receiver rejects this key: ${error.message}.`)
}

/** Names the path without its query. Paths with unusual characters could fake other text, and are not repeated. */
function describePath(url: string): string {
  const [, path = ''] = /^(?:\w+:\/\/[^/?#]*)?([^?#]*)/.exec(url) ?? []
  return /^\/[\w./~%:@-]{0,199}$/.test(path) ? `the path ${path}` : 'this request'
}
