import { createMemoryDuplicates, createMemoryInbox, createMemoryRows } from 'geohook/inbox'
import { describeDuplicates } from './duplicates.ts'
import type { InboxEngineKind } from './engine.ts'
import { describeInbox } from './inboxes.ts'
import { describeLease } from './lease.ts'
import { describeRows } from './rows.ts'

const kind: InboxEngineKind = {
  name: 'memory',
  create: async () => ({ open: (options) => createMemoryInbox(options), remove: async () => {} }),
  minLease: 1_000,
  isShared: false,
}
describeInbox(kind)
describeLease(kind)

describeDuplicates({
  name: 'memory',
  create: async () => ({ open: (options) => createMemoryDuplicates(options), remove: async () => {} }),
  isShared: false,
})

describeRows({
  name: 'memory',
  create: async () => ({ open: (options) => createMemoryRows(options), remove: async () => {} }),
  isShared: false,
})
