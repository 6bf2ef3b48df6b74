import type { DurableInbox, InboxEntry, InboxState } from '../../inbox/durable-inbox.ts'
import { InspectorError } from '../http/message.ts'
import type { ListQuery, RowPage } from '../source.ts'
import { toRow } from './item.ts'
import { type Counts, mapStates, readWindow, STATES, sumOf, type Window } from './window.ts'

/** Matches the ids of deliveries. Some engines report an error for any other id. */
export const isId = (text: string): boolean => /^[\da-f]{32}$/.test(text)

/**
 * Lists the newest deliveries of each state.
 *
 * @throws {InspectorError} 400 if `after` is not the `next` of a page
 */
export async function listInbox(
  inbox: DurableInbox,
  { limit, after, filters: { outcome, text = '' } }: ListQuery,
): Promise<RowPage> {
  if (isId(text)) return toPage(await findEntry(inbox, text))
  if (outcome !== undefined && !isState(outcome)) return { rows: [] }
  const cursor = after === undefined ? undefined : readCursor(after)
  const counts = await inbox.stats()
  const ends = cursor ? mapStates((state) => Math.min(cursor[state], counts[state])) : counts
  const selected = mapStates((state) => (outcome === undefined || outcome === state ? ends[state] : 0))
  const window = await readWindow(inbox, selected, limit)
  const hasOlder = sumOf(window.older) > 0
  return {
    ...toPage(window.entries),
    ...(hasOlder && { next: STATES.map((state) => window.older[state]).join('-') }),
    ...((hasOlder || after !== undefined) && { note: describe(window, after === undefined) }),
  }
}

const isState = (word: string): word is InboxState => (STATES as readonly string[]).includes(word)

const toPage = (entries: readonly InboxEntry[]): RowPage => ({ rows: entries.map(toRow) })

async function findEntry(inbox: DurableInbox, id: string): Promise<InboxEntry[]> {
  const item = await inbox.get(id)
  return item ? [item] : []
}

function readCursor(after: string): Counts {
  const [, ...numbers] = /^(\d{1,12})-(\d{1,12})-(\d{1,12})-(\d{1,12})$/.exec(after) ?? []
  if (numbers.length === 0) throw new InspectorError(400, 'This page of the list does not exist.')
  return mapStates((state) => Number(numbers[STATES.indexOf(state)]))
}

/** For example `The newest of each state: 500 of 12,034 waiting, 500 of 80,000 done.` */
function describe({ shown, older }: Window, isFirst: boolean): string {
  const parts = STATES.filter((state) => shown[state] + older[state] > 0).map((state) => {
    const total = (shown[state] + older[state]).toLocaleString('en')
    return `${shown[state].toLocaleString('en')} of ${total} ${state}`
  })
  if (parts.length === 0) return 'There are no older deliveries.'
  return `${isFirst ? 'The newest' : 'Older ones'} of each state: ${parts.join(', ')}.`
}
