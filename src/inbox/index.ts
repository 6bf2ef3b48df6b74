export type * from './entry-types.ts'
export {
  createMemoryDuplicates,
  createMemoryInbox,
  type MemoryDuplicatesOptions,
  type MemoryInboxOptions,
} from './memory/index.ts'
