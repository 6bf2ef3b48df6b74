import type { ReceivedRequest } from './request.ts'

/** A value of the request that a sender may have signed together with the body. */
export interface Value {
  text: string
  /** What the value is, such as `timestamp`. Evidence shows it in place of the value. */
  label: string
}

/** Names of the values that a template may contain. */
export type Placeholder = 't' | 'id' | 'url' | 'path' | 'method' | 'host' | 'contentType'

/** Maximum number of values of each kind. */
const LIMITS: Readonly<Record<Placeholder, number>> = {
  t: 8,
  id: 6,
  url: 8,
  path: 4,
  method: 1,
  host: 2,
  contentType: 1,
}

/** Maximum length of a value in characters. */
const MAX_LENGTH = 4000

/** Maximum number of headers that are read. */
const MAX_HEADERS = 200

/** Returns the values that a sender may have signed, likely ones first. */
export function readValues(request: ReceivedRequest): Readonly<Record<Placeholder, readonly Value[]>> {
  const { headers, method = 'POST' } = request
  const fields = readFields(request)
  const paths = readPaths(request)
  const hosts = [headers.get('x-forwarded-host'), headers.get('host') ?? headers.get(':authority')]
  const values: Record<Placeholder, Value[]> = {
    t: fields.filter(({ text }) => TIME.test(text)).map(({ text }) => ({ text, label: 'timestamp' })),
    id: fields.filter(({ name, text }) => ID.test(name) && !TIME.test(text)).map(toId),
    path: paths,
    url: readUrls(request, paths),
    method: [{ text: method.toUpperCase(), label: 'method' }],
    host: hosts.flatMap((text) => (text ? [{ text, label: 'host' }] : [])),
    contentType: [{ text: headers.get('content-type') ?? '', label: 'content type' }],
  }
  for (const kind of Object.keys(LIMITS) as Placeholder[]) {
    const unique = new Map(values[kind].map((value) => [value.text, value]))
    values[kind] = [...unique.values()]
      .filter(({ text }) => text !== '' && text.length <= MAX_LENGTH)
      .slice(0, LIMITS[kind])
  }
  return values
}

interface Field {
  name: string
  text: string
}

/** Unix time in seconds to nanoseconds, ISO 8601, and HTTP dates. */
const TIME =
  /^(?:\d{9,10}(?:\.\d{1,9})?|\d{13}|\d{16}|\d{19}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.:+-]{0,20}Z?|\d{8}T\d{6}Z|[A-Z][a-z]{2}, [\w: +-]{18,30})$/

/** Names of headers and parameters whose values identify a message, a sender or a request. */
const ID = /(^|[-_])(id|uuid|guid|nonce|n|delivery|token|key|keyid|kid|client|event|topic|type)$/i

/** Headers that every request may have, and that no scheme signs. */
const COMMON = /^(content-length|content-type|expires|last-modified|if-(un)?modified-since|age)$/

/** Returns the headers and their parts, the parts of the signature first, and the parameters of the query. */
function readFields({ headers, headerName, decoded, url = '' }: ReceivedRequest): Field[] {
  const all = [...headers].slice(0, MAX_HEADERS)
  const signatures = all.filter(([name]) => name !== headerName && /sig|hmac|^authorization$/.test(name))
  const others = all.filter(
    ([name, value]) => name !== headerName && value.length <= 200 && !COMMON.test(name),
  )
  const isLikely = ([name]: readonly [string, string]): boolean => /time|date|webhook|event|nonce/.test(name)
  return [
    ...[decoded, ...signatures.map(([, value]) => value)].slice(0, 10).flatMap(readParts),
    ...[...others.filter(isLikely), ...others.filter((other) => !isLikely(other))].map(([name, text]) => ({
      name,
      text,
    })),
    ...[...new URLSearchParams(/\?([^#]*)/.exec(url)?.[1]?.slice(0, MAX_LENGTH))].map(([name, text]) => ({
      name,
      text,
    })),
  ]
}

/** Splits a value like `t=1730385704,v1=…`, `1730385704:…` or `Signature keyId="a",created=1730385704`. */
function readParts(value: string): Field[] {
  const text = value.slice(0, 2000)
  return [
    ...text.split(/[,;&\s]/).flatMap((pair) => {
      const [, name, part] = /(?:^|\W)(\w+)="?([^"]+)/.exec(pair) ?? []
      return name && part ? [{ name, text: part.slice(0, 200) }] : []
    }),
    ...(text.match(/[\w-]{1,40}/g) ?? []).map((part) => ({ name: '', text: part })),
  ].slice(0, 100)
}

const toId = ({ text }: Field): Value => ({ text, label: 'id' })

/** Headers in which proxies keep the path that the sender used. */
const ORIGINAL_PATHS = ['x-original-uri', 'x-original-url', 'x-forwarded-uri', 'x-envoy-original-path']

function readPaths({ url, headers }: ReceivedRequest): Value[] {
  const paths = [url?.replace(/^[a-z]+:\/\/[^/?#]*/i, ''), ...ORIGINAL_PATHS.map((name) => headers.get(name))]
  return paths.flatMap((path) => {
    if (!path?.startsWith('/')) return []
    const [bare = ''] = path.split('?', 1)
    return [
      { text: path, label: path === bare ? 'path' : 'path and query' },
      { text: bare, label: 'path' },
    ]
  })
}

/** Returns the URLs and paths under which the sender may know this receiver. */
function readUrls({ url, headers }: ReceivedRequest, paths: readonly Value[]): Value[] {
  const hosts = ['x-forwarded-host', 'x-original-host', 'host', ':authority'].flatMap((name) => {
    const host = headers.get(name)?.split(',', 1)[0]?.trim()
    return host ? [host, host.replace(/:\d+$/, '')] : []
  })
  const urls = /^[a-z]+:/i.test(url ?? '') ? [{ text: url as string, label: 'URL' }] : []
  const [first, ...others] = paths
  for (const { text, label } of paths) {
    for (const scheme of ['https', 'http']) {
      for (const host of new Set(hosts)) {
        const shown = `${scheme} URL${label === 'path' && text !== first?.text ? ' without query' : ''}`
        urls.push({ text: `${scheme}://${host}${text}`, label: shown })
      }
    }
  }
  return first ? [...urls.slice(0, 1), first, ...others.slice(0, 1), ...urls.slice(1), ...others] : urls
}
