import type { DurableInbox, InboxEntry, InboxStats } from '../../inbox/durable-inbox.ts'
import type { Source } from '../source.ts'
import { readWindow, STATES } from './window.ts'

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
export function watchInbox(inbox: DurableInbox, onStats: (stats: InboxStats) => void): Source['on'] {
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
    const isSame = last !== undefined && STATES.every((state) => stats[state] === last?.stats[state])
    const isIdle = isSame && stats.waiting + stats.active === 0
    if (isIdle && last && !hasFailed) return
    const { entries } = await readWindow(inbox, stats, WATCHED)
    const versions = new Map(entries.map((entry) => [entry.id, versionOf(entry)]))
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

const versionOf = ({ state, attempts, dueAt, error }: InboxEntry): string =>
  [state, attempts, dueAt?.getTime(), error].join(' ')

/** Ids of entries that are new, changed or gone. */
function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const changed = [...after].filter(([id, version]) => before.get(id) !== version)
  const gone = [...before.keys()].filter((id) => !after.has(id))
  return [...changed.map(([id]) => id), ...gone]
}
