// @module-tag sqlite
import { createSqliteDuplicates, createSqliteInbox, createSqliteRows } from 'geohook/sqlite'
import { createFolder } from '../../helpers/folder.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { describeDuplicates } from './duplicates.ts'
import type { InboxEngineKind } from './engine.ts'
import { describeInbox } from './inboxes.ts'
import { describeLease } from './lease.ts'
import { describeRows } from './rows.ts'

const kind: InboxEngineKind = {
  name: 'SQLite',
  async create() {
    const { fileIn, remove } = createFolder()
    const path = fileIn('inbox.db')
    return {
      open: (options) => createSqliteInbox({ path, ...options }),
      async endLeases() {
        const db = openDatabase(path)
        db.exec('UPDATE task SET due = 0 WHERE state = 1')
        db.close()
      },
      remove,
    }
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

describeRows({
  name: 'SQLite',
  async create() {
    const { fileIn, remove } = createFolder()
    const path = fileIn('rows.db')
    return { open: (options) => createSqliteRows({ path, ...options }), remove }
  },
  isShared: true,
})
