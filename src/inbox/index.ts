export {
  createMemoryDuplicates,
  createMemoryInbox,
  type MemoryDuplicatesOptions,
  type MemoryInboxOptions,
} from './memory/index.ts'
export type * from './types.ts'
