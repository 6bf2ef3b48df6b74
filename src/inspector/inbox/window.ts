import type { DurableInbox, InboxEntry, InboxState } from '../../inbox/durable-inbox.ts'
import { toCursor } from '../../inbox/method-options.ts'

/** The states in the order in which a cursor lists them. */
export const STATES: readonly InboxState[] = ['waiting', 'active', 'done', 'dead']

/** For each state, a number of deliveries. */
export type Counts = Readonly<Record<InboxState, number>>

/** The newest deliveries of each state. Inboxes list the oldest first, so a window is the end of each list. */
export interface Window {
  /** Newest first. */
  entries: InboxEntry[]
  /** Number of deliveries of each state in this window. */
  shown: Counts
  /** Number of older deliveries of each state. */
  older: Counts
}

/**
 * Reads the newest deliveries with at most one call per state, however many deliveries there are. Each state gets an
 * equal share of the limit, so that a thousand done deliveries do not hide one dead letter.
 *
 * @param ends number of deliveries of each state up to the end of the window
 */
export async function readWindow(inbox: DurableInbox, ends: Counts, limit: number): Promise<Window> {
  const sizes = shareOut(ends, limit)
  const older = mapStates((state) => ends[state] - sizes[state])
  const pages = await Promise.all(
    STATES.filter((state) => sizes[state] > 0).map((state) =>
      inbox.list({ state, limit: sizes[state], after: toCursor(older[state]) }),
    ),
  )
  const entries = pages.flatMap((page) => page.entries)
  const shown = mapStates((state) => entries.filter((entry) => entry.state === state).length)
  return { entries: entries.sort((a, b) => +b.receivedAt - +a.receivedAt), shown, older }
}

export const mapStates = <T>(map: (state: InboxState) => T): Record<InboxState, T> => ({
  waiting: map('waiting'),
  active: map('active'),
  done: map('done'),
  dead: map('dead'),
})

export const sumOf = (counts: Counts): number => STATES.reduce((sum, state) => sum + counts[state], 0)

/** Divides the limit among the states. States with fewer deliveries than their share leave the rest to the others. */
function shareOut(counts: Counts, limit: number): Counts {
  const sizes = mapStates(() => 0)
  let rest = limit
  const fewestFirst = [...STATES].sort((a, b) => counts[a] - counts[b])
  for (const [index, state] of fewestFirst.entries()) {
    sizes[state] = Math.min(counts[state], Math.floor(rest / (fewestFirst.length - index)))
    rest -= sizes[state]
  }
  return sizes
}
