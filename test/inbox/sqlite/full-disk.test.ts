// @module-tag sqlite

import { statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { expect, it } from 'vitest'
import { createDisk, describeWithDisks } from '../../helpers/tmpfs.ts'
import { deliveryOf } from '../deliveries.ts'

await describeWithDisks(() => {
  it('a SQLite inbox accepts deliveries on a disk that reports a size of 0, and its log stays small', async () => {
    const disk = createDisk(0)
    const path = join(disk.path, 'inbox.db')
    const inbox = createSqliteInbox({ path })
    try {
      expect(statfsSync(disk.path).blocks).toBe(0)
      for (let i = 0; i < 20; i++) await inbox.put(deliveryOf(new Uint8Array(1024 ** 2)))
      expect(statSync(`${path}-wal`).size).toBeLessThan(10 * 1024 ** 2)
      expect(statSync(`${path}-reserve`).size).toBe(8 * 1024 ** 2)
    } finally {
      await inbox.close()
      await disk.remove()
    }
  })
})
