import type { DuplicateStore } from 'geohook'
import type { DurableInbox, InboxOptions } from 'geohook/inbox'

/** One store for inboxes, made for one test. */
export interface InboxEngine {
  /** An inbox over the store; called again, another over the same store, as another process would have it. */
  open(options?: InboxOptions): DurableInbox
  /** Removes the store. The inboxes are closed before. */
  remove(): Promise<void>
}

/** What the suite has to know of an engine. */
export interface InboxEngineKind {
  name: string
  create(): Promise<InboxEngine>
  /** The shortest lease that it takes, in milliseconds. */
  leastLease: number
  /** Whether several inboxes can be over one store, and find there what was kept: of all but memory. */
  isShared: boolean
}

/** One store for duplicates, made for one test. */
export interface DuplicatesEngine {
  open(options?: { lease?: number; retention?: number }): DuplicateStore & { close(): Promise<void> }
  remove(): Promise<void>
}

export interface DuplicatesEngineKind {
  name: string
  create(): Promise<DuplicatesEngine>
  isShared: boolean
}
