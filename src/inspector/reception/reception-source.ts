import type { Redactor } from '../../shared/redact.ts'
import type { FilterChoices, Row, Source } from '../source.ts'
import { createActions } from './actions.ts'
import { createAddressBook } from './address.ts'
import { createExplainer } from './explainer.ts'
import { outcomeOf, toItem, toRow } from './item.ts'
import type { ResolvedOptions } from './options.ts'
import type { Recorded } from './recorded.ts'
import type { RequestStore } from './store.ts'

/** Shows recorded requests. */
export function createReceptionSource(
  store: RequestStore,
  options: ResolvedOptions,
  redactor: Redactor,
): Source {
  const addresses = createAddressBook(options.resendTo)
  const explain = createExplainer(options.receiver)
  /** Pages are listed often, so each row is made once. */
  const rows = new WeakMap<Recorded, Row>()
  function rowOf(recorded: Recorded): Row {
    const row = rows.get(recorded) ?? toRow(recorded, redactor)
    rows.set(recorded, row)
    return row
  }
  return {
    title: options.title,
    panels: [],
    actions: createActions(options, addresses, redactor),
    filters: async () => choicesOf(store.newestFirst()),
    async list({ limit, after }) {
      const all = store.newestFirst()
      // If the last request of the previous page is gone, all older ones are gone too.
      const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      const page = after !== undefined && start === 0 ? [] : all.slice(start, start + limit)
      const next = start + page.length < all.length && page.length > 0 ? page.at(-1)?.id : undefined
      return { rows: page.map(rowOf), next }
    },
    async get(id) {
      const recorded = store.get(id)
      if (!recorded) return undefined
      const item = toItem(
        recorded,
        options,
        redactor,
        () => explain(recorded),
        otherRequests(store, recorded),
      )
      const address = redactor.text(addresses.suggest(item.request.url)) || undefined
      return { ...item, request: { ...item.request, address } }
    },
    clear: async () => store.clear(),
    on: store.on,
  }
}

/** Maximum number of values to choose from, because senders choose some of them. */
const MAX_CHOICES = 200
const MAX_OTHERS = 10

function choicesOf(all: readonly Recorded[]): FilterChoices {
  const sorted = (values: readonly (string | undefined)[]): string[] =>
    [...new Set(values)]
      .filter((value) => value !== undefined)
      .slice(0, MAX_CHOICES)
      .sort()
  return {
    services: sorted(all.map(({ delivery }) => delivery?.service)),
    webhooks: sorted(all.map(({ delivery }) => delivery?.webhook)),
    changeTypes: sorted(all.flatMap(({ delivery }) => delivery?.changeTypes ?? [])),
    outcomes: sorted(all.map((recorded) => outcomeOf(recorded).word)),
  }
}

/** Ids of other requests with the same delivery, newest first. */
const otherRequests = (store: RequestStore, { id, delivery }: Recorded): string[] =>
  delivery
    ? store
        .newestFirst()
        .filter((other) => other.id !== id && other.delivery?.id === delivery.id)
        .slice(0, MAX_OTHERS)
        .map((other) => other.id)
    : []
