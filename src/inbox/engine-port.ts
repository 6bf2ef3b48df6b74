import type { Delivery, StoredDelivery } from '../receiver/types.ts'
import type {
  DeliveryFilter,
  FailedAttempt,
  InboxEntry,
  InboxErrors,
  InboxItem,
  InboxState,
} from './durable-inbox.ts'
import type { GenerationStore } from './generations.ts'

/** A task: the fate of a delivery with the handlers of one name. Tasks are in the order of `seq`, then of `handler`. */
export interface TaskKey {
  /** Number of the delivery in its table. */
  seq: number
  /** Name of the handlers; empty for those without a name. */
  handler: string
}

/** A task that a worker holds. Each take of a task increases its token. */
export interface HeldTask extends TaskKey {
  /** Fencing token: the table records nothing for an attempt whose token is not the latest one. */
  token: number
}

/** A delivery that a worker took from the table. */
export interface TakenDelivery extends HeldTask {
  delivery: StoredDelivery
  changeTypes: readonly string[]
  /** Number of this attempt, from 1. */
  attempt: number
  errors: readonly FailedAttempt[]
  /** True if the delivery was taken by {@link DeliveriesTable.takeSuspect}. */
  isSuspect: boolean
  /** True if {@link DeliveriesTable.rerun} has made it due again. */
  isRerun: boolean
  /** Set if the stored row is damaged: handlers must not run, and `delivery` is what is left of it. */
  damage?: Error
}

export interface TakeRequest {
  owner: string
  handler: string
  /** Lease of the taken deliveries in milliseconds. */
  lease: number
  /** Maximum number of deliveries, from 1. */
  limit: number
  /** Maximum size of their bodies in bytes, unless the first is larger. */
  maxBytes: number
  /** Take unhandled deliveries with these numbers, instead of waiting ones that are due. */
  seqs?: readonly number[]
  /** True if the worker has names. Its announcement may have expired. */
  areNames?: boolean
  /**
   * Keeps the order of each service: of the tasks that are due, holds those that must wait for an earlier one with the same
   * key. Tasks no longer wait for one whose first failed attempt was `hold` milliseconds ago.
   */
  order?: { hold: number } | undefined
}

export interface SuspectRequest {
  owner: string
  /** Lease of the taken delivery in milliseconds. */
  lease: number
  /** The names of the worker, each with its maximum number of attempts. No higher count is stored. */
  attempts: ReadonlyMap<string, number>
  /** True if no other delivery is in progress in this process. */
  isAlone: boolean
  /** Tasks not to take, as {@link taskName} returns them, for example because this inbox object is handling them. */
  except: ReadonlySet<string>
}

export type AttemptEnd =
  | { state: 'done' }
  /** The worker has no handler, so the number of attempts is that before this one. */
  | { state: 'unhandled'; attempts: number }
  | { state: 'dead'; errors: readonly FailedAttempt[] }
  /** The next attempt is due in `delay` milliseconds. */
  | { state: 'waiting'; errors: readonly FailedAttempt[]; delay: number }

export interface EndedAttempt extends HeldTask {
  end: AttemptEnd
}

/** A worker that is running in any process, and what it handles. */
export interface Announcement {
  /** The owner of its leases. */
  id: string
  /** The change types of its handlers without a name, as passed to `on`. Undefined if it handles everything. */
  changeTypes: readonly string[] | undefined
  /** The change types of its other handlers, by name. */
  names: ReadonlyMap<string, readonly string[]>
}

/** Names a task in this process. */
export const taskName = (id: string, handler: string): string => `${id} ${handler}`

/** Milliseconds for which an announcement counts. */
export const ANNOUNCED = 30_000

export interface UnhandledEntry extends TaskKey {
  /** When it became unhandled, in a unit of the engine. */
  endedAt: number
  size: number
  changeTypes: readonly string[]
  /** True if other tasks of the delivery exist, or did: it must not be routed again. */
  isRouted: boolean
}

export interface UnhandledQuery {
  /** Only deliveries that became unhandled within these milliseconds. Undefined for all. */
  within: number | undefined
  /** The last entry of the previous page. */
  after: Pick<UnhandledEntry, 'seq' | 'handler' | 'endedAt'> | undefined
  limit: number
}

/** The validated conditions for tasks of one state. */
export interface TaskFilter extends DeliveryFilter {
  state: EndState
}

export type TaskChange = 'retry' | 'rerun' | 'discard'

/** The validated options of `list`. */
export interface ListQuery {
  state: InboxState | undefined
  filter: DeliveryFilter
  limit: number
  /** Maximum number of tasks to compare with the filter; always more than `limit`. */
  compared: number
  order: 'oldest' | 'newest'
  /** The task before the page. Undefined for the first page. */
  after: TaskKey | undefined
}

export interface ListedEntry extends TaskKey {
  entry: InboxEntry
}

export interface ListedPage {
  listed: ListedEntry[]
  /** The last task that was compared with the filter, if `compared` tasks were. */
  last: TaskKey | undefined
}

export interface ChangedPage {
  changed: number
  last: TaskKey | undefined
}

/** Settings of the queue, which workers of all processes follow. */
export interface QueueSettings {
  /** True if {@link DeliveriesTable.take} and {@link DeliveriesTable.takeSuspect} take nothing. */
  paused: boolean
  /** Used in place of the `concurrency` of each worker. */
  concurrency: number | undefined
}

/** States whose deliveries are removed when their retention has expired. */
export type EndState = 'done' | 'dead' | 'unhandled'

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
  withdraw(worker: string): Promise<void>
  /** Returns the announcements that count. */
  workers(): Promise<Announcement[]>
  /** Returns unhandled tasks, in the order in which they became unhandled, then in their own. */
  unhandled(query: UnhandledQuery): Promise<UnhandledEntry[]>
  /**
   * Routes at most `limit` deliveries that are due and have not been routed, if a worker has announced names or `own`,
   * whose announcement may have expired, has names: creates a task for each name that handles the delivery
   * ({@link createRouting}), and removes the one without a name if no worker has such handlers for it. Resolves with
   * their number.
   */
  route(limit: number, own?: Announcement): Promise<number>
  /** Makes unhandled deliveries that have not been routed wait for {@link route}. */
  reroute(seqs: readonly number[]): Promise<void>
  /**
   * Takes tasks that are due, and counts an attempt for each. If a worker has names, takes no delivery that has not been
   * routed.
   *
   * @returns `wait`: milliseconds until the next delivery is due, if fewer than `limit` were taken and the time is known.
   *   0 if all tasks that it read were held, so that the next call can find others
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
  startAlone(owner: string, held: HeldTask, lease: number): Promise<boolean>
  /** Renews leases. Resolves with true for each that the owner still holds. */
  renew(owner: string, held: readonly HeldTask[], lease: number): Promise<boolean[]>
  /**
   * Records the ends of attempts, all or none. Skips tasks that the owner has lost. Resolves with true for each of the
   * others. A lease that has expired is not lost until the task is taken again. Ends that were recorded before are among
   * the others: the caller repeats a call whose answer it did not get.
   *
   * Releases the first held task of each key whose task has ended. With `isOrdered`, waits for takes with an order, so that
   * none of them holds it at the same time.
   */
  endAttempts(owner: string, ends: readonly EndedAttempt[], isOrdered?: boolean): Promise<boolean[]>
  settings(): Promise<QueueSettings>
  /** Changes a setting. A take that begins after this has resolved follows it. */
  set<Name extends keyof QueueSettings>(name: Name, value: QueueSettings[Name]): Promise<void>
  /** Counts the deliveries in each state. If counting is slow, numbers above 1,000 may be up to ten seconds old. */
  counts(): Promise<Record<InboxState, number> & { oldest?: Date }>
  /** Returns entries in the order of the tasks: `limit` + 1 entries if that many match. */
  list(query: ListQuery): Promise<ListedPage>
  get(id: string): Promise<InboxItem | undefined>
  /** @param handler default: all tasks of the delivery */
  retry(id: string, handler?: string): Promise<boolean>
  /** Makes done tasks due, with their full number of attempts. They remain reruns when they are retried. */
  rerun(id: string, handler?: string): Promise<boolean>
  /**
   * Discards tasks, but active ones only if their lease has expired: there may be no worker with their name. The delivery
   * is removed with its last task.
   *
   * @param handler default: all tasks of the delivery, without its done ones if others are not done: without them, the same
   *   delivery would be handled again
   */
  discard(id: string, handler?: string): Promise<boolean>
  /**
   * Compares about `limit` tasks with a filter, in order, and changes those that match. Resolves with their number, and
   * with the last task that was compared, which is undefined after the end.
   *
   * @param after the last task of the previous call
   * @param limit can be exceeded by the other tasks of the last delivery
   */
  changeAll(change: TaskChange, filter: TaskFilter, after: TaskKey, limit: number): Promise<ChangedPage>
  /** Groups the newest `limit` dead letters by their errors. */
  errors(limit: number): Promise<InboxErrors>
  /**
   * Removes at most `limit` tasks that ended at least `age` milliseconds ago, and deliveries with their last one. Resolves
   * with the number of removed tasks, which is 0 if none is left.
   */
  purge(state: EndState, age: number, limit: number): Promise<number>
  /**
   * Calls `wake` whenever another process may have stored a delivery or changed a setting. Tables without this method are
   * polled.
   */
  watch?(wake: () => void): { close(): void }
  close(): Promise<void>
}

/** The methods of a table for operators. Workers use the others. */
export type OperatorMethods = Pick<
  DeliveriesTable,
  'list' | 'get' | 'retry' | 'rerun' | 'discard' | 'changeAll' | 'errors' | 'purge'
>
