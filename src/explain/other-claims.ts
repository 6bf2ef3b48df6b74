import { toBinary } from '../signature/bytes.ts'
import { decodeSignature, percentDecode, type SignatureEncoding } from '../signature/encoding.ts'
import { type Member, membersOf } from './bodies/json-tree.ts'
import { readFields } from './form-texts.ts'
import { readMembers, readText } from './member-texts.ts'
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

/** Maximum number of characters of the query that are searched. */
const MAX_QUERY = 4000

/** How deep the members of a JSON body are searched, and how many members of each inner object. */
const MAX_DEPTH = 3
const MAX_NESTED = 20

/** Reads the headers, the query of the URL, the members of a JSON body and the fields of a form. */
export function readOtherClaims(request: ReceivedRequest, encoding: SignatureEncoding): OtherClaims {
  const { headers, headerName } = request
  const otherHeaders: string[] = []
  const digests: OtherDigest[] = []
  let isComplete = headers.size <= MAX_HEADERS
  for (const [name, value] of [...headers].slice(0, MAX_HEADERS)) {
    if (name === headerName || HASHES.test(name) || !NAME.test(name)) continue
    if (value.length > MAX_VALUE) isComplete = false
    const text = value.slice(0, MAX_VALUE)
    const found = [...digestsIn(percentDecode(text))]
    if (SIGNATURES.test(name) ? text !== '' : found.some(({ length }) => length >= 20) && !IDS.test(name))
      otherHeaders.push(name)
    const mistake: Finding = { cause: 'signature_in_other_header', evidence: describeHeader(name, text) }
    const isAmongWords = name === 'cookie' || WORDS.test(text)
    for (const digest of found)
      digests.push([digest, [mistake, ...(isAmongWords ? [] : notationMistakes(text, digest, encoding))]])
  }
  for (const { cause, evidence, text } of [...readQuery(request), ...readJson(request), ...readForm(request)])
    for (const digest of digestsIn(cause === 'signature_in_form_field' ? percentDecode(text) : text))
      digests.push([digest, [{ cause, evidence }, ...notationMistakes(text, digest, encoding)]])
  return { otherHeaders, isComplete, digests }
}

/** A value such as `HMAC <signature>`. The fix says that the sender must change it. */
const WORDS = /^[a-z][\w-]{2,40}\s/i

function describeHeader(name: string, value: string): string {
  const start = `The header ${name} contains the signature`
  if (typeof decodeSignature(value) !== 'string') return `${start}.`
  if (name === 'cookie') return `${start}, in a cookie.`
  if (/^basic\s/i.test(value)) return `${start}, as a part of the user name and password.`
  if (WORDS.test(value)) return `${start} behind other words.`
  return `${start}.`
}

/** A text that may contain a signature. The evidence is true if it does. */
type Place = Finding & { text: string }

function* readQuery({ url = '', keys }: ReceivedRequest): Generator<Place> {
  const query = /\?([^#]*)/.exec(url)?.[1]?.slice(0, MAX_QUERY)
  for (const [name, text] of new URLSearchParams(query?.replaceAll('+', '%2B'))) {
    const evidence = `The query of the URL contains the signature${shown(', in the parameter', name, keys)}.`
    yield { cause: 'signature_in_query', evidence, text }
  }
}

function* readJson({ body, keys }: ReceivedRequest): Generator<Place> {
  for (const [name, text] of textMembers(readMembers(readText(body)))) {
    const evidence = `The JSON of the body contains the signature${shown(', in the member', name, keys)}.`
    yield { cause: 'signature_in_body', evidence, text }
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
    const evidence = `The form field${shown('', name, keys)} contains the signature.`
    yield { cause: 'signature_in_form_field', evidence, text }
  }
}

/**
 * Shows a name only if it is a plain word, because the sender chooses it, and not if it is a key of the receiver or
 * contains one.
 */
export const shown = (before: string, name: string, keys: readonly Uint8Array[]): string =>
  /^[\w.-]{1,40}$/.test(name) && !keys.some((key) => key.length > 0 && name.includes(toBinary(key)))
    ? `${before} ${name}`
    : ''
