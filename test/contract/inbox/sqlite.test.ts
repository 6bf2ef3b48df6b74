// @module-tag sqlite
import { createSqliteDuplicates, createSqliteInbox } from 'geohook/sqlite'
import { createFolder } from '../../helpers/folder.ts'
import { describeDuplicates } from './duplicates.ts'
import type { InboxEngineKind } from './engine.ts'
import { describeInbox } from './inboxes.ts'
import { describeLease } from './lease.ts'

const kind: InboxEngineKind = {
  name: 'SQLite',
  async create() {
    const { fileIn, remove } = createFolder()
    const path = fileIn('inbox.db')
    return { open: (options) => createSqliteInbox({ path, ...options }), remove }
  },
  minLease: 1_000,
  isShared: true,
}
describeInbox(kind)
describeLease(kind)

describeDuplicates({
  name: 'SQLite',
  async create() {
    const { fileIn, remove } = createFolder()
    const path = fileIn('duplicates.db')
    return { open: (options) => createSqliteDuplicates({ path, ...options }), remove }
  },
  isShared: true,
})
