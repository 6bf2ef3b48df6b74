import type { DuplicateStore } from 'geohook'
import type { DurableInbox, InboxOptions, RowStore, RowsOptions } from 'geohook/inbox'

/** A store for the inboxes of one test. */
export interface InboxEngine {
  /** Opens an inbox on the store. Each call opens a new inbox, as another process would. */
  open(options?: InboxOptions): DurableInbox
  /** Ends the leases of all deliveries, as if their processes had hung. Only for shared inboxes. */
  endLeases?(): Promise<void>
  /** Removes the store. All its inboxes must be closed. */
  remove(): Promise<void>
}

/** An inbox engine under test. */
export interface InboxEngineKind {
  name: string
  create(): Promise<InboxEngine>
  /** The shortest lease that the engine accepts, in milliseconds. */
  minLease: number
  /** True if several inboxes can share a store and see each other's deliveries. False only for the memory engine. */
  isShared: boolean
}

/** A store for the duplicates of one test. */
export interface DuplicatesEngine {
  open(options?: { lease?: number; retention?: number }): DuplicateStore & { close(): Promise<void> }
  remove(): Promise<void>
}

export interface DuplicatesEngineKind {
  name: string
  create(): Promise<DuplicatesEngine>
  isShared: boolean
}

/** A store for the rows of one test. */
export interface RowsEngine {
  open(options?: RowsOptions): RowStore
  remove(): Promise<void>
}

export interface RowsEngineKind {
  name: string
  create(): Promise<RowsEngine>
  /** True if several stores can share the rows. False only for the memory engine. */
  isShared: boolean
}
