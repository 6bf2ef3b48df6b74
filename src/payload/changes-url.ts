/** A `changesUrl`, split into its parts (docs/senders.md, "Payloads"). */
export interface ChangesUrl {
  /** URL of the feature service, without the operation, a query or a slash at its end. */
  service: string
  /** The first and the last generation of the window. The last is absent if the window has no end. */
  window: { min: number; max?: number }
  /** Ids of the layers; absent for all. */
  layers?: readonly number[]
  /** The parameters of the query other than `serverGens` and `layers`, by name in lower case. */
  parameters: ReadonlyMap<string, string>
}

const OPERATION = /\/extractChanges\/?$/i

/** Splits the URL of an event. Returns `undefined` if it is not a URL of `extractChanges` with generations. */
export function parseChangesUrl(text: string): ChangesUrl | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (!OPERATION.test(url.pathname)) return undefined
  const parameters = new Map<string, string>()
  for (const [name, value] of url.searchParams) parameters.set(name.toLowerCase(), value.trim())
  const window = readWindow(parameters.get('servergens'))
  if (!window) return undefined
  const layers = readIntegers(parameters.get('layers'))
  parameters.delete('servergens')
  parameters.delete('layers')
  url.pathname = url.pathname.replace(OPERATION, '')
  url.search = ''
  url.hash = ''
  return { service: url.href, window, parameters, ...(layers?.length && { layers }) }
}

/** Writes a `changesUrl`. */
export function writeChangesUrl({ service, window, layers, parameters }: ChangesUrl): string {
  const url = new URL(`${service}/extractChanges`)
  const { min, max } = window
  url.searchParams.set('serverGens', max === undefined ? `[${min}]` : `[${min},${max}]`)
  if (layers) url.searchParams.set('layers', layers.join(','))
  for (const [name, value] of parameters) url.searchParams.set(name, value)
  return url.href
}

/** URLs can be joined if they have the same key: one extraction has one service and one version of its data. */
export const joinKeyOf = ({ service, parameters }: ChangesUrl): string =>
  `${service} ${parameters.get('gdbversion') ?? ''}`

/** Parameters that leave out features, or parts of them. They are kept if all URLs have the same value. */
const FILTERS = /^(?:layerqueries|geometry|geometrytype|insr|fieldstocompare|returnidsonly|returnextentonly)$/

/**
 * Joins the URLs with the same key: the result asks for everything that one of them asks for. Kinds of changes that only
 * some of them exclude (`returnUpdates=false`) are included.
 *
 * @param urls at least one, the newest last
 */
export function joinChangesUrls(urls: readonly ChangesUrl[]): ChangesUrl {
  const newest = urls[urls.length - 1] as ChangesUrl
  const mins = urls.map(({ window }) => window.min)
  const maxs = urls.flatMap(({ window }) => window.max ?? [])
  const layers = new Set(urls.flatMap((url) => url.layers ?? []))
  const parameters = new Map(urls.flatMap((url) => [...url.parameters]))
  const counts = countValues(urls)
  for (const name of parameters.keys()) {
    const { given = 0, isTrue = false, differs = false } = counts.get(name) ?? {}
    const isMissing = given < urls.length
    if (FILTERS.test(name)) {
      if (isMissing || differs) parameters.delete(name)
    } else if (name.startsWith('return')) {
      // A missing `returnInserts` means true (shared by all senders that are known); a missing `returnAttachments`, false.
      if (isTrue) parameters.set(name, 'true')
      else if (isMissing) parameters.delete(name)
    }
  }
  return {
    service: newest.service,
    window: {
      min: minimum(mins),
      ...(maxs.length === urls.length && { max: maximum(maxs) }),
    },
    ...(urls.every((url) => url.layers) && { layers: [...layers].sort((a, b) => a - b) }),
    parameters,
  }
}

interface Count {
  given: number
  isTrue: boolean
  differs: boolean
  first: string
}

/** Counts in one pass, because a sender can send many URLs with many parameters. */
function countValues(urls: readonly ChangesUrl[]): Map<string, Count> {
  const counts = new Map<string, Count>()
  for (const { parameters } of urls)
    for (const [name, value] of parameters) {
      const count = counts.get(name) ?? { given: 0, isTrue: false, differs: false, first: value }
      counts.set(name, count)
      count.given++
      count.isTrue ||= value.toLowerCase() === 'true'
      count.differs ||= value !== count.first
    }
  return counts
}

// `Math.min(...numbers)` fails for very long lists.
const minimum = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.min(a, b))
const maximum = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.max(a, b))

function readWindow(text: string | undefined): ChangesUrl['window'] | undefined {
  const [min, max, ...rest] = readIntegers(text) ?? []
  if (min === undefined || rest.length > 0) return undefined
  if (max === undefined) return { min }
  return min <= max ? { min, max } : undefined
}

/** Reads `1`, `1,2` and `[1,2]`. */
function readIntegers(text = ''): number[] | undefined {
  const list = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  const numbers = list
    .split(',')
    .map((item) => (/^-?\d{1,16}$/.test(item.trim()) ? Number(item) : Number.NaN))
  return numbers.every(Number.isSafeInteger) ? numbers : undefined
}
