export type * from './entry-types.ts'
export {
  createMemoryDuplicates,
  createMemoryInbox,
  createMemoryRows,
  type MemoryDuplicatesOptions,
  type MemoryInboxOptions,
  type MemoryRowsOptions,
} from './memory/index.ts'
