import { concat, fromBinary, utf8 } from '../shared/bytes.ts'
import { decodeAs, toBinary } from './bytes.ts'
import { type Json, parseJson } from './json.ts'
import type { ReceivedRequest } from './request.ts'
import type { Hypothesis } from './types.ts'
import { MAX_BODY } from './work.ts'

/** Parts of texts that known webhook schemes sign, such as Stripe, Slack and Standard Webhooks. */
const KNOWN = [
  ...['time . body', 'v0: time : body', 'id . time . body', 'time : body', 'time body', 'body time'],
  ...['id time body', 'url body', 'body url', 'v1: time : body', 'v1. time . body', 't= time . body'],
]

/** Orders of parts, which schemes join by any of the separators. */
const ORDERS = [
  ...['time body', 'body time', 'id body', 'body id', 'id time body', 'time id body', 'url body', 'body url'],
  ...['time url body', 'url time body', 'url body time', 'method url body', 'method url body time'],
  ...['method path body', 'time method path body', 'method path time body', 'method time path body'],
  ...['method body', 'type body', 'host path body', 'method host path body', 'method host path time body'],
  // Texts without the body: with such a signature, anyone can change the body.
  ...['time', 'id time', 'time id', 'url', 'time url', 'method path', 'method path time'],
]
const SEPARATORS = ['', '.', '\n', ':', '|', '-', '_', ',', ';']

/** Texts that webhook schemes sign in place of the body alone, likely ones first, as names of values and separators. */
const TEMPLATES: readonly (readonly string[])[] = [
  ...KNOWN,
  ...SEPARATORS.flatMap((by) => ORDERS.map((order) => order.replaceAll(' ', ` ${by} `))),
  ...ORDERS.map((order) => `${order.replaceAll(' ', ' \n ')} \n`),
].map((template) => template.split(' '))

/** Maximum number of texts, and of bytes in all of them, because hashing takes most of the time. */
const MAX_TEXTS = 800
const MAX_BYTES = 3 * 1024 * 1024

/** A part of a text, and its name. Evidence shows only names, because a sender could forge log lines with the text. */
type Value = readonly [text: string, label: string]

const BODY: Value = ['', '{body}']

/** Maximum rank of a choice. */
const MAX_RANK = 8

type Choice = readonly [parts: readonly Value[], rank: number]

/** Yields texts that other webhook schemes sign in place of the body alone, at most the given number of them. */
export function* signedTexts(request: ReceivedRequest, maxTexts: number = MAX_TEXTS): Generator<Hypothesis> {
  const { body, keys, headers } = request
  const choices = cached.get(headers) ?? readChoices(request)
  cached.set(headers, choices)
  let bytes = MAX_BYTES / Math.max(1, keys.length)
  for (const [parts] of choices.slice(0, maxTexts)) {
    // Joins bytes instead of text, so that the body is copied only once.
    const text = concat(parts.map((part) => (part === BODY ? body : utf8(part[0]))))
    bytes -= text.length
    if (bytes < 0) break
    const shown = parts.map(([, label]) => label).join('')
    yield ['signed_text', text, `the text ${shown.replaceAll('\n', '\\n')}`]
  }
}

/** The choices for a request, because the search asks for them once for each other body. */
const cached = new WeakMap<ReceivedRequest['headers'], readonly Choice[]>()

/** Returns each choice of values for each template. A part without a value leaves no choice. */
function readChoices(request: ReceivedRequest): Choice[] {
  const all = readValues(request)
  const choices = TEMPLATES.flatMap((template) => {
    let found: Choice[] = [[[], 0]]
    for (const name of template) {
      const values = all[name] ?? [[name, name]]
      found = found.flatMap(([parts, rank]) =>
        values.slice(0, MAX_RANK - rank).map((value, index): Choice => [[...parts, value], rank + index]),
      )
    }
    return found
  })
  return choices.sort(([, a], [, b]) => a - b).slice(0, MAX_TEXTS)
}

/** Maximum length of a value in characters, and maximum number of headers that are read. */
const MAX_LENGTH = 4000
const MAX_HEADERS = 200

/** Returns the values that a sender may have signed, likely ones first. */
function readValues(request: ReceivedRequest): Readonly<Record<string, readonly Value[]>> {
  const { headers, method = 'POST' } = request
  const parts = readParts(request)
  const textsOf = (found: readonly Part[]): string[] => found.map(([, text]) => text)
  const times = textsOf(parts.filter(([, text]) => TIME.test(text)))
  const ids = textsOf(parts.filter(([name, text]) => ID.test(name) && !TIME.test(text)))
  const paths = readPaths(request)
  const labelled = (label: string, texts: readonly (string | undefined)[]): Value[] =>
    texts.map((text = '') => [text, `{${label}}`])
  const limited = (limit: number, values: readonly Value[]): Value[] =>
    [...new Map(values.map((value) => [value[0], value])).values()].filter(isUsable).slice(0, limit)
  return {
    body: [BODY],
    time: limited(8, labelled('timestamp', times)),
    id: limited(6, labelled('id', ids)),
    method: limited(1, labelled('method', [method.toUpperCase()])),
    host: limited(2, labelled('host', hostsOf(headers))),
    type: limited(1, labelled('content type', [headers.get('content-type')])),
    path: limited(4, paths),
    url: limited(8, readUrls(request, paths)),
  }
}

const isUsable = ([text]: Value): boolean => text !== '' && text.length <= MAX_LENGTH

/** Unix time in seconds to nanoseconds, ISO 8601, and HTTP dates. */
const TIME =
  /^(?:\d{9,10}(?:\.\d{1,9})?|\d{13}|\d{16}|\d{19}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.:+-]{0,20}Z?|\d{8}T\d{6}Z|[A-Z][a-z]{2}, [\w: +-]{18,30})$/

/** Names of headers and parameters whose values identify a message, a sender or a request. */
const ID = /(^|[-_])(id|uuid|guid|nonce|n|delivery|token|key|keyid|kid|client|event|topic|type)$/i

/** Headers that every request may have, and that no scheme signs. */
const COMMON = /^(content-length|content-type|expires|last-modified|if-(un)?modified-since|age)$/

type Part = readonly [name: string, text: string]

function readParts({ headers, headerName, decoded, url = '' }: ReceivedRequest): Part[] {
  const all = [...headers].slice(0, MAX_HEADERS).filter(([name]) => name !== headerName)
  const signatures = all.filter(([name]) => /sig|hmac|^authorization$/.test(name)).map(([, value]) => value)
  const others = all.filter(([name, value]) => value.length <= 200 && !COMMON.test(name))
  const isLikely = ([name]: Part): boolean => /time|date|webhook|event|nonce/.test(name)
  return [
    ...[decoded, ...signatures].slice(0, 10).flatMap(splitValue),
    ...others.filter(isLikely),
    ...others.filter((other) => !isLikely(other)),
    ...new URLSearchParams(/\?([^#]*)/.exec(url)?.[1]?.slice(0, MAX_LENGTH)),
  ]
}

/** Splits a value like `t=1730385704,v1=…`, `1730385704:…` or `Signature keyId="a",created=1730385704`. */
function splitValue(value: string): Part[] {
  const text = value.slice(0, 2000)
  const named = [...text.matchAll(/\b(\w{1,40})="?([^",;&\s]{1,200})/g)].map(
    ([, name = '', part = '']): Part => [name, part],
  )
  const words = (text.match(/[\w-]{1,40}/g) ?? []).map((part): Part => ['', part])
  return [...named, ...words].slice(0, 100)
}

/** Returns the hosts under which the sender may know this receiver, with their ports and without. */
const hostsOf = (headers: ReceivedRequest['headers']): string[] =>
  ['x-forwarded-host', 'host', ':authority'].flatMap((name) => {
    const host = headers.get(name)?.split(',', 1)[0]?.trim()
    return host ? [host, host.replace(/:\d+$/, '')] : []
  })

/** Returns the path, also as proxies keep it, with its query and without. */
function readPaths({ url, headers }: ReceivedRequest): Value[] {
  const names = ['x-original-uri', 'x-original-url', 'x-forwarded-uri', 'x-envoy-original-path']
  const paths = [url?.replace(/^[a-z]+:\/\/[^/?#]*/i, ''), ...names.map((name) => headers.get(name))]
  return paths.flatMap((path): Value[] => {
    if (!path?.startsWith('/')) return []
    const [bare = ''] = path.split('?', 1)
    return [
      [path, path === bare ? '{path}' : '{path and query}'],
      [bare, '{path}'],
    ]
  })
}

/** Returns the URLs and paths under which the sender may know this receiver. */
function readUrls({ url = '', headers }: ReceivedRequest, paths: readonly Value[]): Value[] {
  const [first, ...others] = paths
  const urls = paths.flatMap(([text]) =>
    ['https', 'http'].flatMap((scheme) =>
      hostsOf(headers).map((host): Value => [`${scheme}://${host}${text}`, `{${scheme} URL}`]),
    ),
  )
  if (/^[a-z]+:/i.test(url)) urls.unshift([url, '{URL}'])
  return first ? [...urls.slice(0, 1), first, ...others.slice(0, 1), ...urls.slice(1), ...others] : urls
}

/** Names of members and fields that contain a signature, and of members that senders sign in place of the whole body. */
const SIGNATURE = /(^|[-_])(sig|sign|hmac|hash|checksum|digest|mac)$|signature|x-service/i
const SIGNED = /^(payload|data|event|events|body|message|content|object|attributes|params)$/i

/** Maximum number of members and fields that are read, and of members that are tried. */
const MAX_READ = 100
const MAX_FIELDS = 20
const MAX_TRIED = 4

/** Returns a body that is a JSON object, with its first members. Returns undefined for other and for large bodies. */
export function readMembers(body: Uint8Array): Json | undefined {
  const text = body.length > MAX_BODY ? undefined : decodeAs(body)
  const json = text && /^\s*\{/.test(text) ? parseJson(text) : undefined
  return json && { ...json, raw: text as string, members: json.members.slice(0, MAX_READ) }
}

/** Reads the fields of a form, as binary strings. Returns an empty list for other bodies, and for large ones. */
export function readFields(body: Uint8Array): Part[] {
  const form = body.length > MAX_BODY ? '' : toBinary(body)
  const pairs = /^[\w.%[\]-]{1,100}=/.test(form) ? form.split('&') : []
  if (pairs.length > MAX_FIELDS) return []
  return pairs.map((pair) => [pair.replace(/=.*/s, ''), pair.slice(pair.indexOf('=') + 1)])
}

/** Yields parts of a body that senders sign if the signature is a member of the JSON, or a field of the form. */
export function* memberTexts(body: Uint8Array): Generator<Hypothesis> {
  const fields = readFields(body)
  for (const field of fields.filter(([name]) => SIGNATURE.test(name))) {
    const rest = fields.filter((other) => other !== field).map((other) => other.join('='))
    yield ['signed_text', fromBinary(rest.join('&')), 'the form without the field for the signature']
  }
  const { raw: text, members } = readMembers(body) ?? { raw: '', members: [] }
  const signatures = members.filter(({ name }) => SIGNATURE.test(name)).slice(0, MAX_TRIED)
  const without = 'the JSON of the body without the member for the signature'
  for (const { name, value, start, end } of signatures) {
    const [before, after] = [text.slice(0, start), text.slice(end)]
    const isLast = before.endsWith(',')
    yield ['signed_text', isLast ? before.slice(0, -1) + after : before + after.replace(/^,\s*/, ''), without]
    yield ['signed_text', JSON.stringify({ ...JSON.parse(text), [name]: undefined }), without]
    const emptied = text.slice(start, end).replace(value.raw, () => '""')
    const what = 'the JSON of the body with an empty text as the signature'
    yield ['signed_text', before + emptied + after, what]
  }
  const signed = signatures.length > 0 ? members.filter(({ name }) => SIGNED.test(name)) : []
  for (const { name, value } of signed.slice(0, MAX_TRIED)) {
    const written = value.kind === 'string' ? value.text : JSON.stringify(JSON.parse(value.raw))
    for (const each of [value.raw, written])
      yield ['signed_text', each, `only the member ${name} of the body`]
  }
}
