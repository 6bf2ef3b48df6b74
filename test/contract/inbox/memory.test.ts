import { createMemoryDuplicates, createMemoryInbox } from 'geohook/inbox'
import { describeDuplicates } from './duplicates.ts'
import { describeInbox } from './inboxes.ts'

describeInbox({
  name: 'memory',
  create: async () => ({ open: (options) => createMemoryInbox(options), remove: async () => {} }),
  leastLease: 1_000,
  isShared: false,
})

describeDuplicates({
  name: 'memory',
  create: async () => ({ open: (options) => createMemoryDuplicates(options), remove: async () => {} }),
  isShared: false,
})
