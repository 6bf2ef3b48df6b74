import { concat, fromBinary, utf8 } from '../shared/bytes.ts'
import { decodeAs, toBinary } from './bytes.ts'
import { type Json, parseJson } from './json.ts'
import type { ReceivedRequest } from './request.ts'
import type { Hypothesis } from './types.ts'
import { MAX_BODY } from './work.ts'

/**
 * Texts that other webhook schemes sign in place of the body alone, likely ones first. The placeholders are `t` (a
 * timestamp of the request), `id` (of the message, the sender or the request), `url`, `path`, `method`, `host`,
 * `contentType` and `body`. `\n` is a line feed.
 */
const TEMPLATES: readonly string[] = [
  // Stripe; Slack; Standard Webhooks; Paddle; Zendesk; Box; Twitch; Square; Trello; HubSpot v3 and v2; Coinbase.
  ...['{t}.{body}', 'v0:{t}:{body}', '{id}.{t}.{body}', '{t}:{body}', '{t}{body}', '{body}{t}'],
  ...['{id}{t}{body}', '{url}{body}', '{body}{url}', '{method}{url}{body}{t}', '{method}{url}{body}'],
  ...[
    '{t}{method}{path}{body}',
    '{body}.{t}',
    '{t}\n{body}',
    '{t}|{body}',
    '{t}.{id}.{body}',
    '{t}{id}{body}',
  ],
  ...['{t}\n{id}\n{body}\n', '{method}\n{path}\n{body}', '{method}\n{path}\n{t}\n{body}'],
  ...['{t}\n{method}\n{path}\n{body}', '{t}-{body}', '{t}_{body}', '{t},{body}', '{t};{body}', '{t} {body}'],
  ...['v1:{t}:{body}', 'v1.{t}.{body}', 't={t}.{body}', '{body}:{t}', '{body}|{t}', '{body}\n{t}'],
  ...['{id}.{body}', '{id}{body}', '{id}:{body}', '{id}|{body}', '{id}\n{body}', '{body}{id}', '{body}.{id}'],
  ...['{id}:{t}:{body}', '{t}:{id}:{body}', '{id}|{t}|{body}', '{id}\n{t}\n{body}', '{t}.{url}.{body}'],
  ...['{t}{url}{body}', '{url}{t}{body}', '{url}{body}{t}', '{url}\n{body}', '{url}.{body}', '{url}:{body}'],
  ...['{url}|{body}', '{t}\n{url}\n{body}', '{method}{path}{t}{body}', '{method}{t}{path}{body}'],
  ...[
    '{method}\n{url}\n{body}',
    '{method}:{path}:{body}',
    '{method}.{path}.{body}',
    '{method}|{path}|{body}',
  ],
  ...['{method} {path}\n{body}', '{t}.{method}.{path}.{body}', '{t}:{method}:{path}:{body}'],
  ...[
    '{method}{body}',
    '{method}\n{body}',
    '{contentType}{body}',
    '{contentType}\n{body}',
    '{host}{path}{body}',
  ],
  ...['{method}\n{host}\n{path}\n{body}', '{method}\n{host}\n{path}\n{t}\n{body}'],
  // Texts without the body, so that anyone could change it.
  ...['{t}', '{id}.{t}', '{t}{id}', '{url}', '{t}.{url}', '{method}\n{path}', '{method}\n{path}\n{t}'],
]

/** Maximum number of texts, and of bytes in all of them, because hashing takes most of the time. */
const MAX_TEXTS = 400
const MAX_BYTES = 8 * 1024 * 1024

/** Values of the request for placeholders, each with what it is. Evidence shows that in place of the value. */
type Values = ReadonlyMap<string, readonly (readonly [text: string, label: string])[]>

/** A template with values for its placeholders. */
interface Choice {
  template: string
  values: ReadonlyMap<string, readonly [text: string, label: string]>
  /** How many more likely choices of values the template has. */
  rank: number
}

/** Yields texts that other webhook schemes sign in place of the body alone, at most the given number of them. */
export function* signedTexts(request: ReceivedRequest, maxTexts: number = MAX_TEXTS): Generator<Hypothesis> {
  const { body, keys } = request
  const choices = cached.get(request.headers) ?? readChoices(request)
  cached.set(request.headers, choices)
  let bytes = MAX_BYTES / Math.max(1, keys.length)
  for (const { template, values } of choices.slice(0, maxTexts)) {
    // Joins bytes instead of text, so that the body is copied only once.
    const parts = template.split(/\{(\w+)\}/).map((part, at) => {
      if (at % 2 === 0) return utf8(part)
      return part === 'body' ? body : utf8(values.get(part)?.[0] ?? '')
    })
    const text = concat(parts)
    bytes -= text.length
    if (bytes < 0) break
    // Shows the names of the values, because a sender could forge log lines with the values.
    const shown = template.replace(/\{(\w+)\}/g, (_, name: string) => `{${values.get(name)?.[1] ?? name}}`)
    yield ['signed_text', text, `the text ${shown.replaceAll('\n', '\\n')}`]
  }
}

/** The choices for a request, because the search asks for them once for each other body. */
const cached = new WeakMap<ReceivedRequest['headers'], readonly Choice[]>()

function readChoices(request: ReceivedRequest): Choice[] {
  const values = readValues(request)
  return TEMPLATES.flatMap((template) => choicesOf(template, values))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MAX_TEXTS)
}

/** Returns each choice of values for a template. A placeholder without a value leaves no choice. */
function choicesOf(template: string, all: Values): Choice[] {
  let choices: Choice[] = [{ template, values: new Map(), rank: 0 }]
  for (const name of new Set(template.match(/(?<=\{)\w+(?=\})/g))) {
    if (name === 'body') continue
    choices = choices.flatMap(({ values, rank }) =>
      (all.get(name) ?? []).map((value, index) => ({
        template,
        values: new Map([...values, [name, value]]),
        rank: rank + index,
      })),
    )
  }
  return choices
}

/** Maximum length of a value in characters, and maximum number of headers that are read. */
const MAX_LENGTH = 4000
const MAX_HEADERS = 200

/** Returns the values that a sender may have signed, likely ones first. */
function readValues(request: ReceivedRequest): Values {
  const { headers, method = 'POST' } = request
  const parts = readParts(request)
  const ids = parts.filter(([name, text]) => ID.test(name) && !TIME.test(text))
  const texts: readonly [
    name: string,
    limit: number,
    label: string,
    texts: readonly (string | undefined)[],
  ][] = [
    ['t', 8, 'timestamp', parts.map(([, text]) => text).filter((text) => TIME.test(text))],
    ['id', 6, 'id', ids.map(([, text]) => text)],
    ['method', 1, 'method', [method.toUpperCase()]],
    ['host', 2, 'host', hostsOf(headers)],
    ['contentType', 1, 'content type', [headers.get('content-type')]],
  ]
  const values: [name: string, limit: number, values: (readonly [text: string, label: string])[]][] =
    texts.map(([name, limit, label, all]) => [name, limit, all.map((text = '') => [text, label] as const)])
  const paths = readPaths(request)
  values.push(['path', 4, paths], ['url', 8, readUrls(request, paths)])
  return new Map(
    values.map(([name, limit, all]) => {
      const unique = [...new Map(all.map((value) => [value[0], value])).values()]
      return [name, unique.filter(([text]) => text !== '' && text.length <= MAX_LENGTH).slice(0, limit)]
    }),
  )
}

/** Unix time in seconds to nanoseconds, ISO 8601, and HTTP dates. */
const TIME =
  /^(?:\d{9,10}(?:\.\d{1,9})?|\d{13}|\d{16}|\d{19}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.:+-]{0,20}Z?|\d{8}T\d{6}Z|[A-Z][a-z]{2}, [\w: +-]{18,30})$/

/** Names of headers and parameters whose values identify a message, a sender or a request. */
const ID = /(^|[-_])(id|uuid|guid|nonce|n|delivery|token|key|keyid|kid|client|event|topic|type)$/i

/** Headers that every request may have, and that no scheme signs. */
const COMMON = /^(content-length|content-type|expires|last-modified|if-(un)?modified-since|age)$/

type Part = readonly [name: string, text: string]

/** Returns the headers and their parts, the parts of the signature first, and the parameters of the query. */
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
  const named = text.split(/[,;&\s]/).flatMap((pair): Part[] => {
    const [, name, part] = /(?:^|\W)(\w+)="?([^"]+)/.exec(pair) ?? []
    return name && part ? [[name, part.slice(0, 200)]] : []
  })
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
function readPaths({ url, headers }: ReceivedRequest): Part[] {
  const names = ['x-original-uri', 'x-original-url', 'x-forwarded-uri', 'x-envoy-original-path']
  const paths = [url?.replace(/^[a-z]+:\/\/[^/?#]*/i, ''), ...names.map((name) => headers.get(name))]
  return paths.flatMap((path): Part[] => {
    if (!path?.startsWith('/')) return []
    const [bare = ''] = path.split('?', 1)
    return [
      [path, path === bare ? 'path' : 'path and query'],
      [bare, 'path'],
    ]
  })
}

/** Returns the URLs and paths under which the sender may know this receiver. */
function readUrls({ url = '', headers }: ReceivedRequest, paths: readonly Part[]): Part[] {
  const [first, ...others] = paths
  const urls = paths.flatMap(([text, label]) =>
    ['https', 'http'].flatMap((scheme) =>
      [...new Set(hostsOf(headers))].map((host): Part => {
        const without = label === 'path' && text !== first?.[0] ? ' without query' : ''
        return [`${scheme}://${host}${text}`, `${scheme} URL${without}`]
      }),
    ),
  )
  if (/^[a-z]+:/i.test(url)) urls.unshift([url, 'URL'])
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

/** Yields parts of a JSON body that senders sign if the signature is a member of the body. */
export function* memberTexts(body: Uint8Array): Generator<Hypothesis> {
  const { raw: text, members } = readMembers(body) ?? { raw: '', members: [] }
  const signatures = members.filter(({ name }) => SIGNATURE.test(name)).slice(0, MAX_TRIED)
  for (const { name, value, start, end } of signatures) {
    const [before, after] = [text.slice(0, start), text.slice(end)]
    const without = 'the JSON of the body without the member for the signature'
    const isLast = before.endsWith(',')
    yield ['signed_text', isLast ? before.slice(0, -1) + after : before + after.replace(/^,\s*/, ''), without]
    yield ['signed_text', JSON.stringify({ ...JSON.parse(text), [name]: undefined }), without]
    const emptied = text.slice(start, end).replace(value.raw, () => '""')
    yield [
      'signed_text',
      before + emptied + after,
      'the JSON of the body with an empty text as the signature',
    ]
  }
  if (signatures.length === 0) return
  for (const { name, value } of members.filter((member) => SIGNED.test(member.name)).slice(0, MAX_TRIED)) {
    const description = `only the member ${name} of the body`
    yield ['signed_text', value.raw, description]
    const written = value.kind === 'string' ? value.text : JSON.stringify(JSON.parse(value.raw))
    yield ['signed_text', written, description]
  }
}

/** A field of a form as it is written, in a binary string, and the form without this field. */
export interface FormField {
  name: string
  value: string
  rest: string
}

/** Reads the fields of a form. Returns an empty list for other bodies, and for large ones. */
export function readFields(body: Uint8Array): FormField[] {
  const form = body.length > MAX_BODY ? '' : toBinary(body)
  const pairs = /^[\w.%[\]-]{1,100}=/.test(form) ? form.split('&') : []
  if (pairs.length > MAX_FIELDS) return []
  return pairs.map((pair, index) => ({
    name: pair.replace(/=.*/s, ''),
    value: pair.slice(pair.indexOf('=') + 1),
    rest: pairs.filter((_, other) => other !== index).join('&'),
  }))
}

/** Yields the form without the field for the signature, which senders sign if the signature is a field of the form. */
export function* formTexts(body: Uint8Array): Generator<Hypothesis> {
  for (const { name, rest } of readFields(body))
    if (SIGNATURE.test(name))
      yield ['signed_text', fromBinary(rest), 'the form without the field for the signature']
}
