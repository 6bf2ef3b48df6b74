import type { Delivery, StoredDelivery } from '../receiver/types.ts'
import type { FailedAttempt, InboxEntry, InboxItem, InboxState, PurgeOptions } from './durable-inbox.ts'
import type { GenerationStore } from './generations.ts'

/** A delivery that a worker holds. Each take of a delivery increases its token. */
export interface HeldDelivery {
  /** Number of the delivery in its table. */
  seq: number
  /** Fencing token: the table records nothing for an attempt whose token is not the latest one. */
  token: number
}

/** A delivery that a worker took from the table. */
export interface TakenDelivery extends HeldDelivery {
  delivery: StoredDelivery
  changeTypes: readonly string[]
  /** Number of this attempt, from 1. */
  attempt: number
  /** The last failed attempts. */
  errors: readonly FailedAttempt[]
  /** True if the delivery was taken by {@link DeliveriesTable.takeSuspect}. */
  isSuspect: boolean
  /** Set if the stored row is damaged: handlers must not run, and `delivery` is what is left of it. */
  damage?: Error
}

/** Parameters of {@link DeliveriesTable.take}. */
export interface TakeRequest {
  owner: string
  /** Lease of the taken deliveries in milliseconds. */
  lease: number
  /** Maximum number of deliveries, from 1. */
  limit: number
  /** Maximum size of their bodies in bytes, unless the first is larger. */
  maxBytes: number
  /** Take unhandled deliveries with these numbers, instead of waiting ones that are due. */
  seqs?: readonly number[]
}

/** Parameters of {@link DeliveriesTable.takeSuspect}. */
export interface SuspectRequest {
  owner: string
  /** Lease of the taken delivery in milliseconds. */
  lease: number
  /** Maximum number of attempts. No higher count is stored. */
  attempts: number
  /** True if no other delivery is in progress in this process. */
  isAlone: boolean
  /** Ids of deliveries not to take, for example because this inbox object is handling them. */
  except: ReadonlySet<string>
}

/** How an attempt ended. */
export type AttemptEnd =
  | { state: 'done' }
  /** The worker has no handler, so the number of attempts is that before this one. */
  | { state: 'unhandled'; attempts: number }
  | { state: 'dead'; errors: readonly FailedAttempt[] }
  /** The next attempt is due in `delay` milliseconds. */
  | { state: 'waiting'; errors: readonly FailedAttempt[]; delay: number }

/** The end of an attempt to handle one delivery. */
export interface EndedAttempt extends HeldDelivery {
  end: AttemptEnd
}

/** A worker that is running in any process, and what it handles. */
export interface Announcement {
  /** The owner of its leases. */
  id: string
  /** The change types of its handlers, as passed to `on`. Undefined if it handles everything. */
  changeTypes: readonly string[] | undefined
}

/** Milliseconds for which an announcement counts. */
export const ANNOUNCED = 30_000

/** An unhandled delivery. */
export interface UnhandledEntry {
  seq: number
  /** When it became unhandled, in a unit of the engine. */
  endedAt: number
  size: number
  changeTypes: readonly string[]
}

/** Parameters of {@link DeliveriesTable.unhandled}. */
export interface UnhandledQuery {
  /** Only deliveries that became unhandled within these milliseconds. Undefined for all. */
  within: number | undefined
  /** The last entry of the previous page. */
  after: Pick<UnhandledEntry, 'seq' | 'endedAt'> | undefined
  limit: number
}

/** The validated options of `list`. */
export interface ListQuery {
  state: InboxState | undefined
  limit: number
  order: 'oldest' | 'newest'
  /** The entry before the page, by its number in the table. Undefined for the first page. */
  after: number | undefined
}

/** An entry with its number in the table. */
export interface ListedEntry {
  seq: number
  entry: InboxEntry
}

/** Settings of the queue, which workers of all processes follow. */
export interface QueueSettings {
  /** True if {@link DeliveriesTable.take} and {@link DeliveriesTable.takeSuspect} take nothing. */
  paused: boolean
  /** Used in place of the `concurrency` of each worker. */
  concurrency: number | undefined
}

/** States whose deliveries are removed when their retention has expired. */
export type EndState = PurgeOptions['state']

/** States whose deliveries can all be retried with one call. */
export type RetriedState = Exclude<EndState, 'done'>

/**
 * The table of deliveries behind an inbox: the interface that a new engine implements. `createTableInbox` creates an
 * inbox from such a table, and adds workers, retries and retention.
 *
 * A new engine is a folder with `table.ts` (this interface), `generations.ts`, `duplicates.ts` (the `DuplicatesTable`)
 * and `index.ts` (the functions that users call). `test/contract/inbox` has the tests that every engine must pass.
 *
 * Every method is atomic, and its changes are durable when it resolves. A table reads the time itself, inside the
 * transaction.
 */
export interface DeliveriesTable {
  /** In the same store, and usable as long as the table. Its arguments have been checked. */
  readonly generations: GenerationStore
  /** Opens the store, and creates what is missing in it. Rejects with `config_invalid` if it can never be used. */
  open(): Promise<unknown>
  /** Resolves with `full` if `maxPending` deliveries are waiting or active. */
  put(delivery: Delivery, limits: { maxPending: number }): Promise<'stored' | 'duplicate' | 'full'>
  /** Stores for {@link ANNOUNCED} milliseconds what a worker handles. */
  announce(worker: Announcement): Promise<void>
  /** Removes an announcement. */
  withdraw(worker: string): Promise<void>
  /** Returns the announcements that count. */
  workers(): Promise<Announcement[]>
  /** Returns unhandled deliveries, in the order in which they became unhandled, then by number. */
  unhandled(query: UnhandledQuery): Promise<UnhandledEntry[]>
  /**
   * Takes deliveries that are due, and counts an attempt for each.
   *
   * @returns `wait`: milliseconds until the next delivery is due, if fewer than `limit` were taken and the time is known
   */
  take(request: TakeRequest): Promise<{ taken: TakenDelivery[]; wait?: number | undefined }>
  /**
   * Takes one suspect: an active delivery whose lease has expired, because its process ended or hung. An attempt that
   * was interrupted after {@link take} does not count, because another delivery may have ended the process: this
   * attempt replaces it. An attempt that was interrupted after {@link startAlone} counts. Its number can be one above
   * `attempts`; then handlers must not run.
   *
   * @returns `'last'`, without taking it, if the last attempt of the suspect would begin now, but `isAlone` is false
   */
  takeSuspect(request: SuspectRequest): Promise<TakenDelivery | 'last' | undefined>
  /**
   * Called before the handlers of a suspect: if this attempt is interrupted, it counts. A call of its own, because the
   * answer of `takeSuspect` can be lost. Also renews the lease. Resolves with false if the owner has lost the delivery.
   */
  startAlone(owner: string, held: HeldDelivery, lease: number): Promise<boolean>
  /** Renews leases. Resolves with the `seq` of those that the owner still holds. */
  renew(owner: string, held: readonly HeldDelivery[], lease: number): Promise<number[]>
  /**
   * Records the ends of attempts, all or none. Skips deliveries that the owner has lost. Resolves with the `seq` of the
   * others. A lease that has expired is not lost until the delivery is taken again. Ends that were recorded before are
   * among the others: the caller repeats a call whose answer it did not get.
   */
  endAttempts(owner: string, ends: readonly EndedAttempt[]): Promise<number[]>
  settings(): Promise<QueueSettings>
  /** Changes a setting. A take that begins after this has resolved follows it. */
  set<Name extends keyof QueueSettings>(name: Name, value: QueueSettings[Name]): Promise<void>
  /** Counts the deliveries in each state. If counting is slow, numbers above 1,000 may be up to ten seconds old. */
  counts(): Promise<Record<InboxState, number> & { oldest?: Date }>
  /** Returns entries by their number in the table: `limit` + 1 entries if there are that many. */
  list(query: ListQuery): Promise<ListedEntry[]>
  get(id: string): Promise<InboxItem | undefined>
  retry(id: string): Promise<boolean>
  /** Retries at most `limit` deliveries with a higher number, in order. Resolves with their numbers. */
  retryAll(state: RetriedState, after: number, limit: number): Promise<number[]>
  discard(id: string): Promise<boolean>
  /**
   * Removes at most `limit` deliveries that ended at least `age` milliseconds ago. Resolves with the number of removed
   * deliveries, which is 0 if none is left.
   */
  purge(state: EndState, age: number, limit: number): Promise<number>
  /** Calls `wake` whenever another process may have stored a delivery or changed a setting. Tables without this method are polled. */
  watch?(wake: () => void): { close(): void }
  close(): Promise<void>
}
