import type { DurableInbox, InboxEntry, InboxState, InboxStats } from '../../inbox/durable-inbox.ts'
import { forEachState, STATES } from '../../inbox/stored-row.ts'
import { InspectorError } from '../http.ts'
import type { ListQuery, RowPage, Source } from '../source.ts'
import { createActions, fatesOf, METHODS, OPTIONAL, type Store, toItem, toRow, toStoreError } from './item.ts'
import { type Counts, createInboxPanel, Samples } from './panel.ts'

const MAX_CHANGE_TYPES = 50

/** True for an inbox of any engine, also for one of another build or of the user's own. */
export const isInbox = (value: unknown): value is DurableInbox =>
  METHODS.every((name) => typeof (value as Partial<DurableInbox> | null | undefined)?.[name] === 'function')

/** The methods of an inbox that the page uses. All errors of its store become pages with status 503. */
function toStore(inbox: DurableInbox): Store {
  const names = [...METHODS, ...OPTIONAL.filter((name) => typeof inbox[name] === 'function')]
  const guarded = names.map((name) => [
    name,
    async (...values: unknown[]) => {
      try {
        return await (inbox[name] as (...values: unknown[]) => unknown).apply(inbox, values)
      } catch (error) {
        throw toStoreError(error)
      }
    },
  ])
  return Object.fromEntries(guarded)
}

/** Shows and operates a durable inbox. */
export function createInboxSource(inbox: DurableInbox): Source {
  const store = toStore(inbox)
  const samples = new Samples()
  /** Change types of the rows that were listed last: counting all of them would read the whole inbox. */
  let changeTypes: readonly string[] = []

  return {
    title: 'geohook inbox',
    filters: async () => ({ service: [], webhook: [], type: changeTypes, outcome: STATES }),
    async list(query) {
      const page = await listInbox(store, query)
      const all = new Set(page.rows.flatMap((row) => row.changeTypes))
      if (all.size > 0) changeTypes = [...all].slice(0, MAX_CHANGE_TYPES).sort()
      return page
    },
    async get(id) {
      const item = isId(id) ? await store.get(id) : undefined
      return item && toItem(item)
    },
    actions: createActions(store),
    panels: [createInboxPanel(store, samples)],
    on: watchInbox(store, (stats) => samples.add(stats)),
  }
}

/** Matches the ids of deliveries. Some engines report an error for any other id. */
const isId = (text: string): boolean => /^[\da-f]{32}$/.test(text)

/**
 * Lists the newest deliveries of each state, or the dead letters with an error.
 *
 * @throws {InspectorError} 400 if `after` is not the `next` of a page
 */
async function listInbox(
  inbox: Store,
  { limit, after, filters: { outcome, text = '', error } }: ListQuery,
): Promise<RowPage> {
  if (isId(text)) {
    const item = await inbox.get(text)
    return { rows: item ? fatesOf(item).map(toRow) : [] }
  }
  if (outcome !== undefined && !isState(outcome)) return { rows: [] }
  if (error !== undefined) {
    if (after !== undefined && !KEY.test(after)) throw noSuchPage()
    const page = await inbox.list({ state: 'dead', error, limit, order: 'newest', after })
    return { rows: page.entries.map(toRow), next: page.next }
  }
  const counts = await inbox.stats()
  const start = after === undefined ? forEachState((state) => ({ left: counts[state] })) : readCursor(after)
  const selected = forEachState((state) => ({
    ...start[state],
    left: outcome === undefined || outcome === state ? Math.min(start[state].left, counts[state]) : 0,
  }))
  const window = await readWindow(inbox, selected, limit)
  const hasOlder = STATES.some((state) => window.older[state].left > 0)
  return {
    rows: window.entries.map(toRow),
    ...(hasOlder && { next: STATES.map((state) => writePosition(window.older[state])).join() }),
    ...((hasOlder || after !== undefined) && { note: describe(window, after === undefined) }),
  }
}

const isState = (word: string): word is InboxState => (STATES as readonly string[]).includes(word)

const writePosition = ({ after = '', left }: Position): string => `${left}.${after}`

/** Matches the `next` of a page of the inbox. */
const KEY = /^\d{1,15}(?: [\w.:-]{1,100})?$/

const noSuchPage = (): InspectorError => new InspectorError(400, 'This page of the list does not exist.')

function readCursor(after: string): Record<InboxState, Position> {
  const texts = after.split(',')
  const positions = texts.flatMap((text): Position[] => {
    const [, left, key = ''] = /^(\d{1,12})\.(.*)$/.exec(text) ?? []
    if (left === undefined || (key !== '' && !KEY.test(key))) return []
    return [{ left: Number(left), ...(key && { after: key }) }]
  })
  if (positions.length !== STATES.length || texts.length !== STATES.length) throw noSuchPage()
  return forEachState((state) => positions[STATES.indexOf(state)] ?? { left: 0 })
}

/** For example `The newest of each state: 500 of 12,034 waiting, 500 of 80,000 done.` */
function describe({ shown, older }: Window, isFirst: boolean): string {
  const parts = STATES.filter((state) => shown[state] + older[state].left > 0).map((state) => {
    const total = (shown[state] + older[state].left).toLocaleString('en')
    return `${shown[state].toLocaleString('en')} of ${total} ${state}`
  })
  if (parts.length === 0) return 'There are no older deliveries.'
  return `${isFirst ? 'The newest' : 'Older ones'} of each state: ${parts.join(', ')}.`
}

/** Minimum milliseconds between the end of one poll and the start of the next. */
const INTERVAL = 1_000
/** Polls take at most this share of the time, so that a slow store is not busy with them. */
const MAX_SHARE = 0.2
/** Number of the newest deliveries that are watched: those of the first page. */
const WATCHED = 1_000

type Listener = Parameters<Source['on']>[0]

/**
 * Finds changes of an inbox. An inbox has no events, and other processes change it too, so it is polled, but only while
 * there are listeners. The next poll starts after the last one has ended.
 *
 * @param onStats called with the counts of each poll
 */
function watchInbox(inbox: Store, onStats: (stats: InboxStats) => void): Source['on'] {
  const listeners = new Set<Listener>()
  let timer: NodeJS.Timeout | undefined
  let isPolling = false
  let last: { stats: InboxStats; versions: ReadonlyMap<string, string> } | undefined
  let hasFailed = false

  async function poll(): Promise<void> {
    timer = undefined
    isPolling = true
    const started = performance.now()
    try {
      await compare()
    } catch {
      // The page asks for the panels, and shows the error that it gets.
      if (!hasFailed) notify()
      hasFailed = true
    }
    isPolling = false
    schedule(Math.max(INTERVAL, (performance.now() - started) * (1 / MAX_SHARE - 1)))
  }

  async function compare(): Promise<void> {
    const stats = await inbox.stats()
    onStats(stats)
    const isSame = ([...STATES, 'paused'] as const).every((name) => stats[name] === last?.stats[name])
    const isIdle = isSame && stats.waiting + stats.active === 0
    if (isIdle && last && !hasFailed) return
    const newest = forEachState((state) => ({ left: stats[state] }))
    const { entries } = await readWindow(inbox, newest, WATCHED)
    const versions = new Map<string, string>()
    for (const entry of entries)
      versions.set(entry.id, `${versions.get(entry.id) ?? ''}${versionOf(entry)}\n`)
    const changed = last ? differences(last.versions, versions) : []
    const isFirst = last === undefined
    last = { stats, versions }
    if (changed.length > 0) notify(changed)
    // Rates and ages change as long as deliveries are pending.
    if (!isFirst || hasFailed) notify()
    hasFailed = false
  }

  function notify(ids?: readonly string[]): void {
    for (const listener of [...listeners]) listener(ids)
  }

  function schedule(milliseconds: number): void {
    if (listeners.size === 0 || timer || isPolling) return
    timer = setTimeout(poll, milliseconds)
    timer.unref()
  }

  return (given) => {
    const listener: Listener = (ids) => given(ids) // unique, so that a function can listen twice
    // What was seen before the pause is outdated, and the page has just been loaded.
    if (listeners.size === 0 && !isPolling) last = undefined
    listeners.add(listener)
    schedule(0)
    return () => {
      listeners.delete(listener)
      if (listeners.size > 0) return
      clearTimeout(timer)
      timer = undefined
    }
  }
}

const versionOf = ({ handler, state, attempts, dueAt, error }: InboxEntry): string =>
  [handler, state, attempts, dueAt?.getTime(), error].join(' ')

/** Ids of deliveries that are new, changed or gone. */
function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const changed = [...after].filter(([id, version]) => before.get(id) !== version)
  const gone = [...before.keys()].filter((id) => !after.has(id))
  return [...changed.map(([id]) => id), ...gone]
}

/** Where a page begins in the list of a state. */
interface Position {
  /** The `next` of the page before. Absent for the newest deliveries. */
  after?: string
  /** Number of deliveries from there on. */
  left: number
}

/** The newest deliveries of each state. */
interface Window {
  /** Newest first. */
  entries: InboxEntry[]
  /** Number of deliveries of each state in this window. */
  shown: Counts
  /** Where the older deliveries of each state begin. */
  older: Record<InboxState, Position>
}

/**
 * Reads the newest deliveries with at most one call per state, however many deliveries there are. Each state gets an
 * equal share of the limit, so that a thousand done deliveries do not hide one dead letter.
 */
async function readWindow(inbox: Store, from: Record<InboxState, Position>, limit: number): Promise<Window> {
  const sizes = shareOut(
    forEachState((state) => from[state].left),
    limit,
  )
  const older = { ...from }
  const shown = forEachState(() => 0)
  const read = async (state: InboxState): Promise<InboxEntry[]> => {
    const { after, left } = from[state]
    if (sizes[state] === 0) return []
    const { entries, next } = await inbox.list({ state, limit: sizes[state], order: 'newest', after })
    shown[state] = entries.length
    older[state] =
      next === undefined ? { left: 0 } : { after: next, left: Math.max(1, left - entries.length) }
    return entries
  }
  const entries = (await Promise.all(STATES.map(read))).flat()
  return { entries: entries.sort((a, b) => +b.receivedAt - +a.receivedAt), shown, older }
}

/** Divides the limit among the states. States with fewer deliveries than their share leave the rest to the others. */
function shareOut(counts: Counts, limit: number): Counts {
  const sizes = forEachState(() => 0)
  let rest = limit
  const fewestFirst = [...STATES].sort((a, b) => counts[a] - counts[b])
  for (const [index, state] of fewestFirst.entries()) {
    sizes[state] = Math.min(counts[state], Math.floor(rest / (fewestFirst.length - index)))
    rest -= sizes[state]
  }
  return sizes
}
