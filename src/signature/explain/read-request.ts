import { utf8 } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import { splitSignedForm } from '../form-field.ts'
import { isEmpty, toKeyList } from '../keyring.ts'
import { DEFAULT_SIGNATURE_HEADER } from '../signature-header.ts'
import type { ExplainOptions } from './explain-types.ts'

/** The request to explain, with the receiver's keys. */
export interface ReceivedRequest {
  /** The bytes that the signature should cover. */
  body: Uint8Array
  /** Headers by lower-case name. */
  headers: ReadonlyMap<string, string>
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

const FORM = /^\s*application\/x-www-form-urlencoded\s*(;|$)/i

/**
 * Reads the signature as the receiver does: from the header or, if the header is missing, from the last field of a
 * form.
 *
 * @throws {TypeError} for a key that is neither a string nor bytes
 */
export function readRequest(options: ExplainOptions & { body: Uint8Array }): ReceivedRequest {
  const headers = readHeaders(options.headers)
  const headerName = (options.signatureHeader ?? DEFAULT_SIGNATURE_HEADER).toLowerCase()
  const keys = readKeys(options.signatureKey)
  const { body } = options
  const value = headers.get(headerName) ?? ''
  const isForm = value === '' && FORM.test(headers.get('content-type') ?? '')
  const form = isForm ? splitSignedForm(body, headerName) : undefined
  const found = form ? { body: form.signed, value: form.signature } : { body, value }
  return { ...found, decoded: percentDecode(found.value), isInField: !!form, headers, headerName, keys }
}

/** Joins the values of repeated headers with commas (RFC 9110 section 5.3). */
function readHeaders(headers: ExplainOptions['headers']): Map<string, string> {
  const values = new Map<string, string>()
  for (const [name, value] of Symbol.iterator in headers ? headers : Object.entries(headers)) {
    if (value === undefined) continue
    const key = name.toLowerCase()
    const previous = values.get(key)
    values.set(key, [...(previous === undefined ? [] : [previous]), value].flat().join(', '))
  }
  return values
}

function readKeys(signatureKey: ExplainOptions['signatureKey'] | undefined): Uint8Array[] {
  const keys = toKeyList(signatureKey ?? [])
  if (!Array.isArray(keys)) throw new TypeError('signatureKey must be a string or bytes, or a list of them')
  return keys.map((key: unknown) => {
    if (key === undefined || key === null) return new Uint8Array()
    if (typeof key !== 'string' && !(key instanceof Uint8Array))
      throw new TypeError('signatureKey must be a string or bytes')
    if (isEmpty(key)) return new Uint8Array()
    return typeof key === 'string' ? utf8(key) : key
  })
}
