import type { Receiver } from '../receiver/api.ts'
import type { Delivery, StoredDelivery } from '../receiver/delivery.ts'
import type { Inbox } from '../receiver/options.ts'

/**
 * Where a delivery is on its way: `waiting` for its next attempt, `active` in some process, `done` when its handlers
 * have succeeded, or `dead`: a dead letter, whose attempts are spent.
 */
export type InboxState = 'waiting' | 'active' | 'done' | 'dead'

/** One delivery in an inbox, without its bytes. */
export interface InboxEntry {
  /** The delivery's. */
  id: string
  state: InboxState
  /** Attempts to handle it that have begun. */
  attempts: number
  changeTypes: readonly string[]
  /** Bytes of its body. */
  size: number
  receivedAt: Date
  /** When its next attempt is due; of those that wait. */
  dueAt?: Date
  /** When it was done or became a dead letter. */
  endedAt?: Date
  /** What its last attempt failed with, at most 2,000 characters. */
  error?: string
}

/** One delivery in an inbox, with its bytes. */
export interface InboxItem extends InboxEntry {
  delivery: StoredDelivery
}

/** How an inbox is, in numbers. */
export interface InboxStats extends Record<InboxState, number> {
  /** How many may be waiting or active before more are refused. */
  maxPending: number
  /** When the one was received that has waited longest. */
  oldest?: Date
}

/** What to list. */
export interface ListOptions {
  /** Default: all states. */
  state?: InboxState | undefined
  /** Entries, 1 to 1,000. Default 100. */
  limit?: number | undefined
  /** The `next` of the page before. */
  after?: string | undefined
}

/** A page of entries, those received first at its beginning. What changes between two pages may be on both or on none. */
export interface InboxPage {
  entries: InboxEntry[]
  /** For `after`, where there may be more. */
  next?: string
}

/** What to remove. */
export interface PurgeOptions {
  state: 'done' | 'dead'
  /** Milliseconds since they ended, at least. Default 0: all. */
  olderThan?: number | undefined
}

/** How to work. */
export interface WorkOptions {
  /** Deliveries that are handled at a time, 1 to 1,000. Default 4. */
  concurrency?: number | undefined
}

/** What works on an inbox in this process. */
export interface Workers {
  /** Takes no more deliveries, and resolves when those at work have ended. */
  close(): Promise<void>
}

/**
 * A durable inbox: it has deliveries before they are answered, and runs their handlers until they succeed, or until
 * their attempts are spent. Each engine makes one: `createMemoryInbox`, `createSqliteInbox`, `createPostgresInbox`,
 * `createRedisInbox`.
 *
 * Each method rejects where the store cannot be reached, and works again when it can.
 */
export interface DurableInbox extends Inbox {
  /**
   * Resolves when the delivery would survive a crash; with `'duplicate'` where it is there, in whatever state.
   * Rejects where the inbox is full.
   */
  put(delivery: Delivery): Promise<'stored' | 'duplicate'>
  /**
   * Begins to run the handlers of a receiver for the deliveries in the inbox. An inbox that is closed does not.
   *
   * @throws {WebhookError} `config_invalid`
   */
  work(receiver: Pick<Receiver, 'handle'>, options?: WorkOptions): Workers
  stats(): Promise<InboxStats>
  /** @throws {WebhookError} `config_invalid` */
  list(options?: ListOptions): Promise<InboxPage>
  get(id: string): Promise<InboxItem | undefined>
  /** Makes a dead letter wait again, with all its attempts, or one that waits due now. Is false for any other. */
  retry(id: string): Promise<boolean>
  /** Removes a dead letter, or one that waits. Is false for any other. */
  discard(id: string): Promise<boolean>
  /**
   * Removes what is done, or dead letters, and resolves with their number. What is removed is no longer known as a
   * duplicate.
   *
   * @throws {WebhookError} `config_invalid`
   */
  purge(options: PurgeOptions): Promise<number>
  /**
   * Closes its workers, when what is at work has ended, and then the store. A handler must not wait for it: it would
   * wait for itself.
   */
  close(): Promise<void>
}
