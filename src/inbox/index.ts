export type { ClosableDuplicateStore, DuplicatesOptions } from './claims.ts'
export type {
  DurableInbox,
  InboxEntry,
  InboxItem,
  InboxPage,
  InboxState,
  InboxStats,
  ListOptions,
  PurgeOptions,
  Workers,
  WorkOptions,
} from './inbox.ts'
export { createMemoryInbox, type MemoryInboxOptions } from './memory.ts'
export { createMemoryDuplicates, type MemoryDuplicatesOptions } from './memory-duplicates.ts'
export type { AttemptEnded, InboxObserver } from './observer.ts'
export type { InboxOptions } from './options.ts'
