import { utf8 } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import { splitSignedForm } from '../form-field.ts'
import { isEmpty, toKeyList } from '../keyring.ts'
import type { ExplainOptions } from './types.ts'

/** What there is to explain: the request as it arrived, and the keys as bytes, newest first. */
export interface Case {
  /** The bytes that the signature should cover. */
  body: Uint8Array
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>
  headerName: string
  /** The signature as it came, empty where there is none. */
  value: string
  /** The same percent-decoded once, as a receiver reads it. */
  decoded: string
  /** Whether it came at the end of a form: then `body` is the payload field alone. */
  isInField: boolean
  /** An empty array for a key that is empty, blank, all zero bytes or not set. */
  keys: readonly Uint8Array[]
}

const FORM = /^\s*application\/x-www-form-urlencoded\s*(;|$)/i

/**
 * Reads the signature where a receiver reads it: from the header, or without one from the end of a form.
 *
 * @throws {TypeError} for a key that is neither a string nor bytes
 */
export function readCase(options: ExplainOptions & { body: Uint8Array }): Case {
  const headers = readHeaders(options.headers)
  const headerName = (options.signatureHeader ?? 'x-service').toLowerCase()
  const keys = readKeys(options.signatureKey)
  const { body } = options
  const value = headers.get(headerName) ?? ''
  const isForm = value === '' && FORM.test(headers.get('content-type') ?? '')
  const form = isForm ? splitSignedForm(body, headerName) : undefined
  const found = form ? { body: form.signed, value: form.signature } : { body, value }
  return { ...found, decoded: percentDecode(found.value), isInField: !!form, headers, headerName, keys }
}

/** Several headers of one name are joined as HTTP does. */
function readHeaders(headers: ExplainOptions['headers']): Map<string, string> {
  const values = new Map<string, string>()
  for (const [name, value] of Symbol.iterator in headers ? headers : Object.entries(headers)) {
    if (value === undefined) continue
    const key = name.toLowerCase()
    const before = values.get(key)
    values.set(key, [...(before === undefined ? [] : [before]), value].flat().join(', '))
  }
  return values
}

/** A key that is not set is a cause to name, not an error. */
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
