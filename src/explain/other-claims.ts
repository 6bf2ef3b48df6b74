import { decodeSignature, percentDecode } from '../signature/encoding.ts'
import { type Member, membersOf } from './bodies/json-tree.ts'
import { readFields } from './form-texts.ts'
import { readMembers, readText } from './member-texts.ts'
import { shown } from './names.ts'
import { digestsIn } from './notations.ts'
import type { ReceivedRequest } from './request.ts'
import type { Finding } from './types.ts'

/** Values that could be a signature, and that the receiver does not read. */
export interface OtherClaims {
  /** Names of other headers that look like a signature. */
  readonly otherHeaders: readonly string[]
  /** False if some headers were not searched, because there are too many or they are too long. */
  readonly isComplete: boolean
  /** The digests with the mistake that the sender made. */
  readonly digests: Iterable<readonly [digest: Uint8Array, mistake: Finding]>
}

/**
 * Headers whose values are hashes of the body by definition (RFC 9530, RFC 3230, RFC 1864, cloud storage), so not
 * signatures.
 */
const HASHES =
  /^(repr-|content-|want-)*digest$|^content-(md5|sha256)$|^etag$|^if-(none-)?match$|^x-(amz-content-sha256|amz-checksum-\w+|goog-hash|ms-content-(sha256|md5)|ms-blob-content-md5)$/

/** Headers that name a request or a message. They often have as many digits as a signature. */
const IDS = /(^|-)(id|uuid|guid|trace|traceparent|tracestate|request|correlation|b3)$/

/** Headers with these names contain signatures, whatever their values are. */
const SIGNATURES = /signature|(^|-)(sig|sign|hmac)(-|$)/

/** A header name (RFC 9110). Others are not reported, because a log could be forged with them. */
const NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/

/** Maximum number of other headers that are read; a request with more is not from a service. */
const MAX_HEADERS = 200

/** Maximum number of characters of another value that are searched for a signature. */
const MAX_VALUE = 2000

/** Maximum number of characters of all other headers together that are searched. */
const MAX_VALUES = 32 * 1024

/** Maximum number of characters of the query that are searched. */
const MAX_QUERY = 4000

/** How deep the members of a JSON body are searched, and how many members of each inner object. */
const MAX_DEPTH = 3
const MAX_NESTED = 20

/** Reads the headers, the query of the URL, the members of a JSON body and the fields of a form. */
export function readOtherClaims(request: ReceivedRequest): OtherClaims {
  const { headers, headerName, keys } = request
  const otherHeaders: string[] = []
  const digests: [Uint8Array, Finding][] = []
  let isComplete = headers.size <= MAX_HEADERS
  let left = MAX_VALUES
  for (const [name, value] of [...headers].slice(0, MAX_HEADERS)) {
    if (name === headerName || HASHES.test(name) || !NAME.test(name)) continue
    const text = value.slice(0, Math.min(MAX_VALUE, left))
    left -= text.length
    if (text.length < value.length) isComplete = false
    const found = [...digestsIn(percentDecode(text))]
    if (SIGNATURES.test(name) ? text !== '' : found.some(({ length }) => length >= 20) && !IDS.test(name))
      otherHeaders.push(name)
    const mistake = describedLater('signature_in_other_header', () => describeHeader(name, text, keys))
    for (const digest of found) digests.push([digest, mistake])
  }
  digests.push(...readQuery(request), ...readJson(request), ...readForm(request))
  return { otherHeaders, isComplete, digests }
}

/** Describes a mistake only if it is one, because comparing names with keys takes long. */
const describedLater = (cause: Finding['cause'], describe: () => string): Finding => ({
  cause,
  get evidence() {
    return describe()
  },
})

function describeHeader(name: string, value: string, keys: readonly Uint8Array[]): string {
  const start = `${shown('The header', name, keys) || 'Another header'} contains the signature`
  if (typeof decodeSignature(value) !== 'string') return `${start}.`
  if (name === 'cookie') return `${start}, in a cookie.`
  if (/^basic\s/i.test(value)) return `${start}, as a part of the user name and password.`
  if (/^[a-z][\w-]*\s/i.test(value)) return `${start} behind other words.`
  return `${start}, with other characters around it or in another encoding.`
}

function* readQuery({ url = '', keys }: ReceivedRequest): Generator<[Uint8Array, Finding]> {
  const query = /\?([^#]*)/.exec(url)?.[1]?.slice(0, MAX_QUERY)
  for (const [name, parameter] of new URLSearchParams(query?.replaceAll('+', '%2B'))) {
    const mistake = describedLater(
      'signature_in_query',
      () => `The query of the URL contains the signature${shown(', in the parameter', name, keys)}.`,
    )
    for (const digest of digestsIn(parameter)) yield [digest, mistake]
  }
}

function* readJson({ body, keys }: ReceivedRequest): Generator<[Uint8Array, Finding]> {
  for (const [name, value] of textMembers(readMembers(readText(body)))) {
    const mistake = describedLater(
      'signature_in_body',
      () => `The JSON of the body contains the signature${shown(', in the member', name, keys)}.`,
    )
    for (const digest of digestsIn(value)) yield [digest, mistake]
  }
}

/** Yields the texts in members of a JSON object, also of objects in it. */
function* textMembers(members: readonly Member[], depth = 0): Generator<[name: string, text: string]> {
  for (const [name, value] of members) {
    if (value.kind === 'string' && value.text.length <= MAX_VALUE) yield [name, value.text]
    else if (depth < MAX_DEPTH) yield* textMembers(membersOf(value).slice(0, MAX_NESTED), depth + 1)
  }
}

function* readForm({ body, keys }: ReceivedRequest): Generator<[Uint8Array, Finding]> {
  for (const { name, value } of readFields(body)) {
    if (value.length > MAX_VALUE) continue
    const mistake = describedLater(
      'signature_in_form_field',
      () => `The form field${shown('', name, keys)} contains the signature.`,
    )
    for (const digest of digestsIn(percentDecode(value))) yield [digest, mistake]
  }
}
