import type {
  AttemptContext,
  Delivery,
  HandleOptions,
  Inbox,
  InboxState,
  InboxStats,
  StoredDelivery,
} from '../receiver/types.ts'
import type { GenerationStore } from './generations.ts'

export type { InboxState, InboxStats }

/** A failed attempt to handle a delivery. */
export interface FailedAttempt {
  /** What the handlers threw, with the codes of its causes, at most 2,000 characters. Of earlier attempts, at most 500. */
  error: string
  /** Number of the attempt. */
  attempt?: number
  /** When it ended, by the clock of its process. */
  at?: Date
}

/** The fate of a delivery with the handlers of one name, without its body and headers. */
export interface InboxEntry {
  /** The delivery's id. */
  id: string
  /** Name of the handlers whose fate this is. Absent for handlers without a name. */
  handler?: string
  state: InboxState
  /** Number of attempts that have begun. Attempts of workers without a handler do not count. */
  attempts: number
  changeTypes: readonly string[]
  /** Body size in bytes. */
  size: number
  receivedAt: Date
  /** URL of the feature service, if all events have a `changesUrl` of the same one. */
  service?: string
  /** When the last attempt began. */
  startedAt?: Date
  /** Id of the worker that handles the delivery. Set only while it is active. */
  worker?: string
  /** When the lease of the worker ends, unless it renews it. Set only while the delivery is active. */
  leaseEndsAt?: Date
  /** When the next attempt is due. Set only while the delivery is waiting and not held. */
  dueAt?: Date
  /** True while a waiting delivery is held until an earlier one of its service ends. See {@link OrderOptions}. */
  held?: true
  /** True if later deliveries of its service no longer wait for it. See {@link OrderOptions}. */
  passed?: true
  /** When the delivery became done, dead or unhandled. */
  endedAt?: Date
  /** Error of the last failed attempt, with the codes of its causes, at most 2,000 characters. */
  error?: string
  /** The last ten failed attempts, oldest first. */
  errors?: FailedAttempt[]
}

/**
 * One delivery in an inbox, with its body and headers. Its other members are those of the fate in the worst state: dead,
 * unhandled, waiting, active, done.
 */
export interface InboxItem extends InboxEntry {
  delivery: StoredDelivery
  /** One entry for each name of handlers: a single one if none has a name. */
  fates: InboxEntry[]
}

/** Conditions that select deliveries. A delivery must meet all of the given ones. */
export interface DeliveryFilter {
  /** One of the change types of the delivery. */
  changeType?: string | undefined
  /** URL of the feature service, as in {@link InboxEntry.service}. */
  service?: string | undefined
  /** Part of the last error, as {@link DurableInbox.errors} returns it. Case-sensitive; `*` is not a wildcard. */
  error?: string | undefined
  /** Name of the handlers; `''` for those without a name. Default: all. */
  handler?: string | undefined
  /** Minimum milliseconds since the delivery became done, dead or unhandled. */
  olderThan?: number | undefined
  /** Maximum milliseconds since the delivery became done, dead or unhandled. */
  newerThan?: number | undefined
}

/** Options of {@link DurableInbox.list}. */
export interface ListOptions extends DeliveryFilter {
  /** Default: all states. */
  state?: InboxState | undefined
  /** Maximum number of entries, 1 to 1,000. Default 100. */
  limit?: number | undefined
  /** The order of the pages, by the time of receipt. Default `'oldest'`, which comes first. */
  order?: 'oldest' | 'newest' | undefined
  /** The value of `next` from the previous page with the same `order`. Default: the first page. */
  after?: string | undefined
}

/**
 * A page of entries. The pages of all states have each delivery once. With `state`, a delivery whose state changes
 * between two calls may be missing. With other conditions, a call compares at most 10,000 deliveries, so a page can be
 * empty although another one follows.
 */
export interface InboxPage {
  entries: InboxEntry[]
  /** Pass this value as `after` to get the next page. Absent on the last page. */
  next?: string
}

/** Options of {@link DurableInbox.purge}. */
export interface PurgeOptions extends DeliveryFilter {
  state: 'done' | 'dead' | 'unhandled'
}

/** Dead letters whose last errors have the same text, apart from ids and long numbers. */
export interface ErrorGroup {
  /** The common text, at most 200 characters, with `*` for each id and long number. */
  error: string
  /** Number of dead letters. */
  count: number
  /** When the first of them became a dead letter. */
  first: Date
  /** When the last of them became a dead letter. */
  last: Date
  /** Id of the last of them. */
  id: string
}

/** The result of {@link DurableInbox.errors}. */
export interface InboxErrors {
  /** At most 100 groups, the largest first. */
  groups: ErrorGroup[]
  /** Number of grouped dead letters: at most the newest 100,000. */
  examined: number
}

/** Options of {@link DurableInbox.work}. */
export interface WorkOptions {
  /** Maximum number of deliveries handled at the same time, or of groups with `coalesce`; 1 to 1,000. Default 4. */
  concurrency?: number | undefined
  /** Handles deliveries of the same feature service together. Default: one by one. */
  coalesce?: CoalesceOptions | undefined
  /** Handles deliveries of the same feature service one after the other. Not with `coalesce`. Default: in no order. */
  order?: OrderOptions | undefined
}

/**
 * How workers keep the order of a service's deliveries, in all processes: if the receiver responded to a delivery before
 * another was sent, the first ends before an attempt of the second begins. Each name of handlers has an order of its own. A
 * delivery has no order if one of its events has no `changesUrl`, if its events belong to several services, or if the URL
 * of its service has more than 2,000 characters.
 */
export interface OrderOptions {
  /** By the tenant and the feature service in the `changesUrl`. */
  by: 'service'
  /**
   * Milliseconds after the first failed attempt of a delivery until later ones no longer wait for it: 1 to 2^31 - 1.
   * Default 600,000, ten minutes. No delivery waits for dead letters, unhandled or discarded ones.
   */
  hold?: number | undefined
}

/**
 * How workers group deliveries, so that one call of the handlers handles a whole group. Deliveries of two tenants are
 * never in one group. A delivery is handled alone if an event has no `changesUrl`, if its events belong to several
 * services, or if an earlier attempt failed or crashed.
 */
export interface CoalesceOptions {
  /**
   * Groups by the tenant and the feature service in the `changesUrl`. The workers handle one group at a time for each
   * pair of tenant and service.
   */
  by: 'service'
  /**
   * Milliseconds that a group waits for further deliveries, 1 to 60,000. A group stops waiting once it has 1,000
   * deliveries or 16 MiB of bodies. Default 1,000.
   */
  wait?: number | undefined
}

/** The workers that {@link DurableInbox.work} started in this process. */
export interface Workers {
  /** Stops taking deliveries, and starts waiting groups. Resolves when the attempts in progress have ended. */
  close(): Promise<void>
}

/** The part of a receiver that workers use. */
export interface DeliveryHandler {
  /** Runs the handlers of a delivery. Resolves with `'unhandled'` if none of its events has a handler. */
  handle(stored: StoredDelivery, context: AttemptContext & HandleOptions): Promise<unknown>
}

/**
 * Stores each delivery before the receiver responds, then runs its handlers until they succeed or no attempts are
 * left. Created by `createMemoryInbox`, `createSqliteInbox` and `createPostgresInbox`.
 *
 * Every method rejects while the store is unreachable, and works again as soon as the store is reachable.
 */
export interface DurableInbox extends Inbox {
  /** The last handled generations of feature services, which `geohook/changes` stores. */
  readonly generations: GenerationStore
  /**
   * Opens the store, so that a program can end before it listens. Calls are optional: everything else opens it too.
   *
   * @throws {WebhookError} `config_invalid` if the store can never be used, for example because a package or a right is
   *   missing, or because a newer version of geohook has changed the tables
   */
  ready(): Promise<void>
  /**
   * Stores a delivery. Resolves with `'stored'` once the delivery would survive a crash, or with `'duplicate'` if the
   * inbox already holds it in any state. Rejects if the inbox is full.
   */
  put(delivery: Delivery): Promise<'stored' | 'duplicate'>
  /**
   * Starts workers that run a receiver's handlers for the deliveries in the inbox.
   *
   * @throws {WebhookError} `config_invalid`, also if the inbox is closed
   */
  work(receiver: DeliveryHandler, options?: WorkOptions): Workers
  /** Returns true if the receivers of all workers in this process handle the change type; `undefined` without workers. */
  handles?(changeType: string): boolean | undefined
  /**
   * Keeps the workers of all processes from taking deliveries, until {@link DurableInbox.resume}. Attempts in progress
   * and deliveries that a worker has already taken continue, and `put` still stores deliveries. The store keeps this
   * setting when processes restart.
   */
  pause(): Promise<void>
  /** Ends a pause. The workers of all processes take deliveries again. */
  resume(): Promise<void>
  /**
   * Replaces the `concurrency` of {@link DurableInbox.work} in all processes, within about a second. It limits each call
   * of `work`, not their total. Attempts in progress continue. The store keeps this setting when processes restart.
   *
   * @param concurrency maximum number of deliveries handled at the same time, or of groups with `coalesce`; 1 to 1,000.
   *   `undefined` restores the `concurrency` of each `work`
   * @throws {WebhookError} `config_invalid`
   */
  setConcurrency(concurrency: number | undefined): Promise<void>
  /**
   * Counts the deliveries in each state. In PostgreSQL, if counting takes longer than 20 ms, numbers above 1,000 can be
   * up to ten seconds old.
   */
  stats(): Promise<InboxStats>
  /**
   * Lists deliveries page by page.
   *
   * @throws {WebhookError} `config_invalid`
   */
  list(options?: ListOptions): Promise<InboxPage>
  /** Resolves with a stored delivery, or with `undefined` if the inbox does not have it. */
  get(id: string): Promise<InboxItem | undefined>
  /**
   * Makes a delivery due now. A dead letter gets its full number of attempts again.
   *
   * @param handler only for the handlers with this name; `''` for those without a name. Default: for all
   * @returns true if the delivery was waiting, dead or unhandled; otherwise false
   */
  retry(id: string, handler?: string): Promise<boolean>
  /**
   * Makes all matching dead letters due now, with their full number of attempts, or all matching unhandled deliveries.
   * Resolves with their number. Takes several transactions.
   *
   * @throws {WebhookError} `config_invalid`
   */
  retry(all: DeliveryFilter & { state: 'dead' | 'unhandled' }): Promise<number>
  /**
   * Makes a done delivery due again, with its full number of attempts. Its handlers get `context.rerun`.
   *
   * @param handler only for the handlers with this name; `''` for those without a name. Default: for all
   * @returns true if the delivery was done; otherwise false
   */
  rerun(id: string, handler?: string): Promise<boolean>
  /**
   * Makes all matching done deliveries due again. Resolves with their number. Takes several transactions.
   *
   * @throws {WebhookError} `config_invalid`
   */
  rerun(all: DeliveryFilter & { state: 'done' }): Promise<number>
  /** Groups dead letters by their last error. */
  errors(): Promise<InboxErrors>
  /**
   * Removes a delivery. If it is sent again, the inbox does not recognize it as a duplicate, and handles it. If it is done
   * for only some names of handlers, it is removed for the others only, and still recognized.
   *
   * @param handler only for the handlers with this name; `''` for those without a name. Default: for all
   * @returns true, unless the delivery was active and its lease has not expired, or the inbox does not have it
   */
  discard(id: string, handler?: string): Promise<boolean>
  /**
   * Removes all matching done deliveries, dead letters or unhandled deliveries. Resolves with their number. The inbox no
   * longer recognizes a removed delivery as a duplicate.
   *
   * @throws {WebhookError} `config_invalid`
   */
  purge(options: PurgeOptions): Promise<number>
  /**
   * Stops the workers, waits for the attempts in progress, then closes the store. A handler must not await `close()`,
   * because `close()` waits for that handler.
   */
  close(): Promise<void>
}
