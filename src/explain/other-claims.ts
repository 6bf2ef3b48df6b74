import { decodeSignature, percentDecode, type SignatureEncoding } from '../signature/signature.ts'
import { type Member, membersOf } from './bodies/json-tree.ts'
import { readFields } from './form-texts.ts'
import { readMembers, readText } from './member-texts.ts'
import { shown } from './names.ts'
import { notationMistakes } from './notation-mistake.ts'
import { digestsIn } from './notations.ts'
import type { ReceivedRequest } from './request.ts'
import type { Finding } from './types.ts'

/** Values that could be a signature, and that the receiver does not read. */
export interface OtherClaims {
  /** Names of other headers that look like a signature. */
  readonly otherHeaders: readonly string[]
  /** False if some headers were not searched, because there are too many or they are too long. */
  readonly isComplete: boolean
  /** The digests with the mistakes of the sender: the place, and the notation if the receiver does not read it. */
  readonly digests: Iterable<OtherDigest>
}

type OtherDigest = readonly [digest: Uint8Array, mistakes: readonly Finding[]]

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
export function readOtherClaims(request: ReceivedRequest, encoding: SignatureEncoding): OtherClaims {
  const { headers, headerName, keys } = request
  const otherHeaders: string[] = []
  const digests: OtherDigest[] = []
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
    const isAmongWords = name === 'cookie' || WORDS.test(text)
    for (const digest of found)
      digests.push([digest, [mistake, ...(isAmongWords ? [] : notationMistakes(text, digest, encoding))]])
  }
  for (const { cause, describe, text } of [...readQuery(request), ...readJson(request), ...readForm(request)])
    for (const digest of digestsIn(cause === 'signature_in_form_field' ? percentDecode(text) : text))
      digests.push([digest, [describedLater(cause, describe), ...notationMistakes(text, digest, encoding)]])
  return { otherHeaders, isComplete, digests }
}

/** Describes a mistake only if it is one, because comparing names with keys takes long. */
const describedLater = (cause: Finding['cause'], describe: () => string): Finding => ({
  cause,
  get evidence() {
    return describe()
  },
})

/** A value such as `HMAC <signature>`. The fix says that the sender must change it. */
const WORDS = /^[a-z][\w-]{2,40}\s/i

function describeHeader(name: string, value: string, keys: readonly Uint8Array[]): string {
  const start = `${shown('The header', name, keys) || 'Another header'} contains the signature`
  if (typeof decodeSignature(value) !== 'string') return `${start}.`
  if (name === 'cookie') return `${start}, in a cookie.`
  if (/^basic\s/i.test(value)) return `${start}, as a part of the user name and password.`
  if (WORDS.test(value)) return `${start} behind other words.`
  return `${start}.`
}

/** A text that may contain a signature. */
interface Place {
  cause: Finding['cause']
  text: string
  /** Returns the evidence, which is true if the text contains the signature. */
  describe: () => string
}

function* readQuery({ url = '', keys }: ReceivedRequest): Generator<Place> {
  const query = /\?([^#]*)/.exec(url)?.[1]?.slice(0, MAX_QUERY)
  for (const [name, text] of new URLSearchParams(query?.replaceAll('+', '%2B'))) {
    const describe = () =>
      `The query of the URL contains the signature${shown(', in the parameter', name, keys)}.`
    yield { cause: 'signature_in_query', describe, text }
  }
}

function* readJson({ body, keys }: ReceivedRequest): Generator<Place> {
  for (const [name, text] of textMembers(readMembers(readText(body)))) {
    const describe = () =>
      `The JSON of the body contains the signature${shown(', in the member', name, keys)}.`
    yield { cause: 'signature_in_body', describe, text }
  }
}

/** Yields the texts in members of a JSON object, also of objects in it. */
function* textMembers(members: readonly Member[], depth = 0): Generator<[name: string, text: string]> {
  for (const [name, value] of members) {
    if (value.kind === 'string' && value.text.length <= MAX_VALUE) yield [name, value.text]
    else if (depth < MAX_DEPTH) yield* textMembers(membersOf(value).slice(0, MAX_NESTED), depth + 1)
  }
}

function* readForm({ body, keys }: ReceivedRequest): Generator<Place> {
  for (const { name, value: text } of readFields(body)) {
    if (text.length > MAX_VALUE) continue
    const describe = () => `The form field${shown('', name, keys)} contains the signature.`
    yield { cause: 'signature_in_form_field', describe, text }
  }
}
