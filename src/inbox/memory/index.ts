import { checkOptions, isFunction, type OptionNames, wholeNumber } from '../../options.ts'
import {
  type ClosableDuplicateStore,
  createDuplicates,
  DUPLICATES_OPTIONS,
  type DuplicatesOptions,
} from '../duplicates.ts'
import type { DurableInbox } from '../durable-inbox.ts'
import { INBOX_OPTIONS, type InboxOptions, readInboxOptions } from '../inbox-options.ts'
import { DEFAULT_MAX_ROWS, ROWS_OPTIONS, type RowStore, type RowsOptions } from '../rows.ts'
import { createTableInbox } from '../table-inbox.ts'
import { createMemoryDuplicatesTable } from './duplicates.ts'
import { createRowsInMemory } from './rows.ts'
import { createMemoryTable } from './table.ts'

/** Options of {@link createMemoryInbox}. */
export interface MemoryInboxOptions extends InboxOptions {
  /** Returns the time in milliseconds since 1970, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined
}

/**
 * Creates an inbox in the memory of this process, for tests. It behaves like the other inboxes, but loses its
 * deliveries when the process exits.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createMemoryInbox } from 'geohook/inbox'
 *
 * const inbox = createMemoryInbox()
 * const receiver = createReceiver({ signatureKey: 'parcels2026', inbox }).on('*', (event) => console.log(event))
 * inbox.work(receiver)
 * await inbox.close() // at the end of a test: waits for attempts in progress
 * ```
 */
export function createMemoryInbox(options: MemoryInboxOptions = {}): DurableInbox {
  const { clock = Date.now } = checkOptions(options, { ...INBOX_OPTIONS, clock: isFunction })
  return createTableInbox(createMemoryTable(clock), readInboxOptions(options), clock)
}

/** Options of {@link createMemoryDuplicates}. */
export interface MemoryDuplicatesOptions extends DuplicatesOptions {
  /**
   * Maximum number of deliveries to remember, from 1. Above this number, the oldest done delivery is forgotten. Default
   * 100,000.
   */
  maxEntries?: number | undefined
  /** Returns the time in milliseconds since 1970, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined
}

const DUPLICATES_NAMES: OptionNames<MemoryDuplicatesOptions> = {
  ...DUPLICATES_OPTIONS,
  clock: isFunction,
  maxEntries: wholeNumber(1),
}

/**
 * Creates a duplicate store in the memory of this process: it remembers which deliveries are in progress and which are
 * done.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createMemoryDuplicates } from 'geohook/inbox'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026', duplicates: createMemoryDuplicates() })
 * ```
 */
export function createMemoryDuplicates(options: MemoryDuplicatesOptions = {}): ClosableDuplicateStore {
  const { maxEntries = 100_000, clock = Date.now } = checkOptions(options, DUPLICATES_NAMES)
  return createDuplicates(createMemoryDuplicatesTable(maxEntries, clock), options)
}

/** Options of {@link createMemoryRows}. */
export type MemoryRowsOptions = RowsOptions

/**
 * Creates a store of the last known rows of features in the memory of this process, for tests.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createSnapshots } from 'geohook/changes'
 * import { createMemoryRows } from 'geohook/inbox'
 *
 * const snapshots = createSnapshots({ store: createMemoryRows({ maxRows: 10_000 }) })
 * ```
 */
export function createMemoryRows(options: MemoryRowsOptions = {}): RowStore {
  return createRowsInMemory(checkOptions(options, ROWS_OPTIONS).maxRows ?? DEFAULT_MAX_ROWS)
}
