import { randomBytes } from 'node:crypto'
import { InspectorError } from './http.ts'
import type { Done, FilterChoices, FilterName, Filters, Row, RowPage, Source } from './source.ts'

/** The labels of the filters with a choice of values. Their names are those in URLs. */
export const CHOICES: Readonly<Record<FilterName, string>> = {
  service: 'Service',
  webhook: 'Webhook',
  type: 'Change type',
  outcome: 'Outcome',
}

const MAX_FILTER = 256

export function readFilters(query: URLSearchParams): Filters {
  const given = ['text', 'error', ...Object.keys(CHOICES)].map((name) => [
    name,
    query.get(name)?.slice(0, MAX_FILTER),
  ])
  return Object.fromEntries(given.filter(([, value]) => value))
}

function matches(row: Row, { text, error: _, ...chosen }: Filters): boolean {
  const values = valuesOf(row)
  const isChosen = ([name, value]: [string, string]): boolean => values[name as FilterName].includes(value)
  if (!Object.entries(chosen).every(isChosen)) return false
  return text === undefined || textOf(row).includes(text.toLowerCase())
}

/** The values of a row that the filters with a choice compare. */
const valuesOf = (row: Row): Record<FilterName, readonly (string | undefined)[]> => ({
  service: [row.service],
  webhook: [row.webhook],
  type: row.changeTypes,
  outcome: [row.outcome.word],
})

const textOf = ({ id, changeTypes, service, webhook, target, outcome, note }: Row): string =>
  [id, ...changeTypes, service, webhook, target, outcome.word, outcome.status, note].join('\n').toLowerCase()

/** Longer lists would make every page large, and senders choose some values; the filter for text finds the others. */
const MAX_CHOICES = 200

/** Choices for the filters: the values in the rows, and other values that a source knows. */
export function choicesOf(
  rows: readonly Row[],
  { outcome, ...known }: Partial<FilterChoices> = {},
): FilterChoices {
  const all = rows.map(valuesOf)
  const sorted = (name: FilterName, more: readonly string[] = []): string[] =>
    [...new Set([...more, ...all.flatMap((values) => values[name])])]
      .filter((value) => value !== undefined)
      .slice(0, MAX_CHOICES)
      .sort()
  return {
    service: sorted('service', known.service),
    webhook: sorted('webhook', known.webhook),
    type: sorted('type', known.type),
    outcome: outcome ?? sorted('outcome'),
  }
}

/** Rows on a page. Sources in memory have no more than this. */
const PAGE_SIZE = 1000

/** Pages of a source to look through for rows that match the filters. */
const MAX_PAGES = 5

/** Lists the rows that match the filters, with a page size that keeps the page fast. */
export async function listRows(source: Source, filters: Filters, after?: string): Promise<RowPage> {
  const rows: Row[] = []
  let next = after
  let note: string | undefined
  let searched = 0
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await source.list({ limit: PAGE_SIZE, after: next, filters })
    rows.push(...found.rows.filter((row) => matches(row, filters)))
    searched += found.rows.length
    next = found.next
    // With several pages, the note of one of them would be wrong.
    note =
      page === 0 || found.note === undefined
        ? found.note
        : `The filters were applied to ${searched.toLocaleString('en')} deliveries.`
    if (next === undefined || rows.length >= PAGE_SIZE) break
  }
  return { rows, next, note }
}

const MAX_NOTICES = 100

/**
 * Results of actions, shown on the page after the redirect. The URL contains only an id, so a link cannot contain a
 * forged message.
 */
export class Notices {
  readonly #notices = new Map<string, Done>()

  /** @returns the parameter for the URL */
  add(notice: Done): string {
    const id = randomBytes(9).toString('base64url')
    this.#notices.set(id, notice)
    const [oldest] = this.#notices.keys()
    if (this.#notices.size > MAX_NOTICES && oldest !== undefined) this.#notices.delete(oldest)
    return id
  }

  /** Returns and removes a notice. */
  take(id: string | null): Done | undefined {
    const notice = this.#notices.get(id ?? '')
    this.#notices.delete(id ?? '')
    return notice
  }
}

/** Milliseconds between two messages, so that a burst of deliveries becomes one update of the page. */
const INTERVAL = 100
/** Milliseconds between comments that keep proxies from closing the connection. */
const HEARTBEAT = 15_000

/** Maximum number of changed deliveries that wait for a slow client. */
const MAX_CHANGED = 5_000

/** Maximum number of open streams of a source. The page of each loads the list again and again. */
const MAX_STREAMS = 32
const streams = new WeakMap<Source, number>()

/**
 * Changes of the list as server-sent events (HTML Living Standard, section 9.2): `rows` with the ids of changed
 * deliveries, and `panels` if something else has changed. A slow client gets fewer messages, never a longer queue.
 *
 * @throws {InspectorError} 503 if too many streams are open
 */
export function streamChanges(source: Source): ReadableStream<Uint8Array> {
  const open = (): number => streams.get(source) ?? 0
  if (open() >= MAX_STREAMS) throw new InspectorError(503, 'Too many pages of this inspector are open.')
  const encoder = new TextEncoder()
  const changed = new Set<string>()
  let isPanelChanged = false
  let timer: NodeJS.Timeout | undefined
  let heartbeat: NodeJS.Timeout | undefined
  let removeListener: (() => void) | undefined
  let controller: ReadableStreamDefaultController<Uint8Array>

  const isReady = (): boolean => (controller.desiredSize ?? 0) > 0
  const send = (text: string): void => controller.enqueue(encoder.encode(text))

  function flush(): void {
    timer = undefined
    if (!isReady()) return // `pull` calls it again
    if (changed.size > 0) send(`event: rows\ndata: ${JSON.stringify([...changed])}\n\n`)
    if (isPanelChanged) send('event: panels\ndata:\n\n')
    changed.clear()
    isPanelChanged = false
  }

  function stop(): void {
    if (!removeListener) return
    removeListener()
    removeListener = undefined
    streams.set(source, open() - 1)
    clearTimeout(timer)
    clearInterval(heartbeat)
  }

  return new ReadableStream({
    start(given) {
      controller = given
      send('retry: 1000\n: connected\n\n')
      streams.set(source, open() + 1)
      heartbeat = setInterval(() => isReady() && send(': still here\n\n'), HEARTBEAT)
      removeListener = source.on((ids) => {
        if (ids) for (const id of ids) changed.add(id)
        else isPanelChanged = true
        if (changed.size <= MAX_CHANGED) timer ??= setTimeout(flush, INTERVAL)
        else {
          // The browser connects again, and reads the whole list.
          stop()
          controller.close()
        }
      })
    },
    pull() {
      if (changed.size > 0 || isPanelChanged) timer ??= setTimeout(flush, INTERVAL)
    },
    cancel: stop,
  })
}
