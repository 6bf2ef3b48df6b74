import { randomBytes } from 'node:crypto'
import type { Filters, Notice, Row, RowPage, Source } from './source.ts'

/** Names of the filters in URLs. */
export const PARAMETERS: readonly (readonly [name: string, filter: keyof Filters])[] = [
  ['text', 'text'],
  ['service', 'service'],
  ['webhook', 'webhook'],
  ['type', 'changeType'],
  ['outcome', 'outcome'],
]

export const MAX_FILTER = 256

export function readFilters(query: URLSearchParams): Filters {
  const filters: Filters = {}
  for (const [name, filter] of PARAMETERS) {
    const value = query.get(name)?.slice(0, MAX_FILTER)
    if (value) filters[filter] = value
  }
  return filters
}

/** The filters as parameters of a URL. */
export const toParameters = (filters: Filters): [string, string][] =>
  PARAMETERS.flatMap(([name, filter]): [string, string][] => {
    const value = filters[filter]
    return value === undefined ? [] : [[name, value]]
  })

export function matches(row: Row, { service, webhook, changeType, outcome, text }: Filters): boolean {
  if (service !== undefined && row.service !== service) return false
  if (webhook !== undefined && row.webhook !== webhook) return false
  if (changeType !== undefined && !row.changeTypes.includes(changeType)) return false
  if (outcome !== undefined && row.outcome.word !== outcome) return false
  return text === undefined || textOf(row).includes(text.toLowerCase())
}

export const textOf = ({ id, changeTypes, service, webhook, target, outcome, note }: Row): string =>
  [id, ...changeTypes, service, webhook, target, outcome.word, outcome.status, note].join('\n').toLowerCase()

/** Rows on a page. Sources in memory have no more than this. */
export const PAGE_SIZE = 1000

/** Pages of a source to look through for rows that match the filters. */
export const MAX_PAGES = 5

/** Lists the rows that match the filters, with a page size that keeps the page fast. */
export async function listRows(
  source: Source,
  filters: Filters,
  after?: string,
  maxPages: number = MAX_PAGES,
): Promise<RowPage> {
  const rows: Row[] = []
  let next = after
  let note: string | undefined
  let searched = 0
  for (let page = 0; page < maxPages; page++) {
    const found = await source.list({ limit: PAGE_SIZE, after: next, filters })
    rows.push(...found.rows.filter((row) => matches(row, filters)))
    searched += found.rows.length
    next = found.next
    // With several pages, the note of one of them would be wrong.
    note =
      page === 0 ? found.note : `The filters were applied to ${searched.toLocaleString('en')} deliveries.`
    if (next === undefined || rows.length >= PAGE_SIZE) break
  }
  return { rows, next, note }
}

/**
 * Results of actions, shown on the page after the redirect. The URL contains only an id, so a link cannot contain a
 * forged message.
 */
export interface Notices {
  /** @returns the parameter for the URL */
  add(notice: Notice): string
  get(id: string | null): Notice | undefined
}

export const MAX_NOTICES = 100

export function createNotices(): Notices {
  const notices = new Map<string, Notice>()
  return {
    add(notice) {
      const id = randomBytes(9).toString('base64url')
      notices.set(id, notice)
      const [oldest] = notices.keys()
      if (notices.size > MAX_NOTICES && oldest !== undefined) notices.delete(oldest)
      return id
    },
    get(id) {
      const notice = notices.get(id ?? '')
      if (notice) notices.delete(id ?? '')
      return notice
    },
  }
}
