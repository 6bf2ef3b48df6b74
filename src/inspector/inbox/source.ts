import type { DurableInbox } from '../../inbox/durable-inbox.ts'
import type { RowPage, Source } from '../source.ts'
import { createActions } from './actions.ts'
import { watchInbox } from './changes.ts'
import { toItem } from './item.ts'
import { isId, listInbox } from './list.ts'
import { createInboxPanel } from './panel.ts'
import { createSamples } from './samples.ts'
import { toStoreError } from './store-errors.ts'
import { STATES } from './window.ts'

const MAX_CHANGE_TYPES = 50

const METHODS = ['list', 'get', 'stats', 'retry', 'discard', 'purge'] as const

/** True for an inbox of any engine, also for one of another build or of the user's own. */
export const isInbox = (value: unknown): value is DurableInbox =>
  METHODS.every((name) => typeof (value as Partial<DurableInbox> | null | undefined)?.[name] === 'function')

/** Shows and operates a durable inbox. All errors of its store become pages with status 503. */
export function createInboxSource(inbox: DurableInbox): Source {
  const samples = createSamples()
  /** Change types of the rows that were listed last: counting all of them would read the whole inbox. */
  let changeTypes: readonly string[] = []

  const remember = ({ rows }: RowPage): void => {
    const all = new Set(rows.flatMap((row) => row.changeTypes))
    if (all.size > 0) changeTypes = [...all].slice(0, MAX_CHANGE_TYPES).sort()
  }

  return {
    title: 'geohook inbox',
    filters: async () => ({ services: [], webhooks: [], changeTypes, outcomes: STATES }),
    async list(query) {
      try {
        const page = await listInbox(inbox, query)
        remember(page)
        return page
      } catch (error) {
        throw toStoreError(error)
      }
    },
    async get(id) {
      if (!isId(id)) return undefined
      try {
        const item = await inbox.get(id)
        return item && toItem(item)
      } catch (error) {
        throw toStoreError(error)
      }
    },
    actions: createActions(inbox),
    panels: [createInboxPanel(inbox, samples)],
    on: watchInbox(inbox, samples.add),
  }
}
