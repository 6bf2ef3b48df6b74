// @module-tag sqlite

import { rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
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

  it('a SQLite inbox stores no errors on a full disk, and its dead letters say so', async () => {
    const disk = createDisk(8)
    const filler = join(disk.path, 'filler')
    const observed: unknown[] = []
    const observe = ({ error }: { error: unknown }) => void observed.push(error)
    const observer = { failed: observe, dead: observe, trouble() {} }
    const inbox = createSqliteInbox({
      path: join(disk.path, 'inbox.db'),
      attempts: 3,
      retryDelay: 1,
      observer,
    })
    try {
      const delivery = deliveryOf()
      await inbox.put(delivery)
      let calls = 0
      inbox.work({
        async handle() {
          if (++calls === 2) writeFileSync(filler, Buffer.alloc(statfsSync(disk.path).bavail * 4_096))
          throw `error ${calls}`
        },
      })
      const stored = async () => (await inbox.get(delivery.id))?.errors?.map(({ error }) => error)
      await until(() => observed.length === 3)
      expect(observed).toEqual(['error 1', 'error 2', 'error 3'])
      expect(await stored()).toEqual(['error 1', 'not stored: disk full'])
      expect((await inbox.errors()).groups).toMatchObject([{ error: 'not stored: disk full', count: 1 }])
      rmSync(filler)
      await inbox.retry({ state: 'dead', error: 'not stored: disk full' })
      await until(() => observed.length === 6)
      expect(await stored()).toEqual(['error 1', 'not stored: disk full', 'error 4', 'error 5', 'error 6'])
    } finally {
      await inbox.close()
      await disk.remove()
    }
  })
})
