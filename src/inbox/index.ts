export type { InboxCode } from '../errors.ts'
export type { ClosableDuplicateStore, DuplicatesOptions } from './duplicates.ts'
export type {
  CoalesceOptions,
  DeliveryFilter,
  DeliveryHandler,
  DurableInbox,
  ErrorGroup,
  FailedAttempt,
  InboxEntry,
  InboxErrors,
  InboxItem,
  InboxPage,
  InboxState,
  InboxStats,
  ListOptions,
  OrderOptions,
  PurgeOptions,
  Workers,
  WorkOptions,
} from './durable-inbox.ts'
export type { GenerationStore } from './generations.ts'
export type { AttemptEnded, InboxObserver, OpenInbox, PutEnded } from './inbox-observer.ts'
export type { InboxOptions } from './inbox-options.ts'
export {
  createMemoryDuplicates,
  createMemoryInbox,
  createMemoryRows,
  type MemoryDuplicatesOptions,
  type MemoryInboxOptions,
  type MemoryRowsOptions,
} from './memory/index.ts'
export { type PackOptions, packDelivery, UnpackError, unpackDelivery } from './pack.ts'
export type { KnownRow, NewRow, RowLayer, RowStore, RowsOptions } from './rows.ts'
