// @module-tag sqlite
import {
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { RowStore } from 'geohook/inbox'
import { createSqliteInbox, createSqliteRows } from 'geohook/sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { createDisk, describeWithDisks } from '../../helpers/tmpfs.ts'
import { deliveryOf } from '../deliveries.ts'
import { beforeStatements, replaceFs } from './faulty-calls.ts'

const LAYER = { service: 'https://gis.example.com/server/rest/services/Parcels/FeatureServer', id: 0 }
const PAGE = 4_096

await describeWithDisks(() => {
  /** Mounts a disk of 8 MB for one test, so the reserve has a sixteenth of it, 512 KiB. */
  function mount(): { path: string; file: string } {
    const disk = createDisk(8)
    onTestFinished(() => disk.remove())
    return { path: disk.path, file: join(disk.path, 'inbox.db') }
  }
  const RESERVE = 512 * 1024

  function openRows(path: string): RowStore {
    const rows = createSqliteRows({ path })
    onTestFinished(() => rows.close())
    return rows
  }

  const freeOf = (path: string): number => {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  }

  /** Fills a disk until about 300 KB are free. Returns the exact number. */
  function fill(path: string): number {
    writeFileSync(join(path, 'filler'), Buffer.alloc(freeOf(path) - 75 * PAGE))
    return freeOf(path)
  }

  const write = (rows: RowStore, ...lengths: number[]): Promise<unknown>[] =>
    lengths.map((length, index) =>
      rows.write(LAYER, [{ key: `key${index}`, objectId: undefined, value: 'x'.repeat(length) }], 1),
    )

  const missing = (file: string, bytes: number): string =>
    `the disk of ${file} is almost full: free at least ${bytes} bytes`

  it('rejects rows if twice their size and a quarter of the reserve do not fit', async () => {
    const { path, file } = mount()
    const rows = openRows(file)
    await Promise.all(write(rows, 1))
    const free = fill(path)
    const used = (bytes: number): number => RESERVE / 4 + 2 * bytes
    // Both operations share a transaction, so they are measured together, and only once.
    const results = await Promise.allSettled([
      ...write(rows, 100_000, 50_000),
      rows.write(LAYER, [{ key: 'gone', objectId: undefined, value: undefined }], 1),
    ])
    // Each row also has a key of 4 bytes.
    const first = missing(file, used(100_004 + 50_004 + 4) - free)
    expect(results.map((result) => result.status === 'rejected' && result.reason.message)).toEqual(
      Array(3).fill(first),
    )
    // After a rejection, the size of the reserve must be free in addition.
    const again = used(150_012) + RESERVE - free
    await expect(write(rows, 150_008)[0]).rejects.toThrow(missing(file, again))
    // A missing or shorter reserve must fit, too.
    rmSync(`${file}-reserve`)
    await expect(write(rows, 150_008)[0]).rejects.toThrow(missing(file, again))
    truncateSync(join(path, 'filler'), statSync(join(path, 'filler')).size - Math.ceil(again / PAGE) * PAGE)
    await Promise.all(write(rows, 150_008))
    expect(statSync(`${file}-reserve`).size).toBe(RESERVE)
  })

  it('accepts rows that fit exactly, and no byte more', async () => {
    const { path, file } = mount()
    const rows = openRows(file)
    await Promise.all(write(rows, 1))
    const exact = (fill(path) - RESERVE / 4) / 2 - 4
    await expect(write(rows, exact + 1)[0]).rejects.toThrow(missing(file, 2))
    rmSync(join(path, 'filler'))
    await Promise.all(write(rows, 1))
    await Promise.all(write(rows, (fill(path) - RESERVE / 4) / 2 - 4))
  })

  it('lets SQLite move the log into the database when the log reaches half of the reserve', async () => {
    const { file } = mount()
    const settings: string[] = []
    beforeStatements((sql) => void settings.push(sql))
    await Promise.all(write(openRows(file), 1))
    expect(settings).toContain(`PRAGMA wal_autocheckpoint = ${RESERVE / 2 / PAGE}`)
  })

  it('writes the reserve again only if it is missing or too short', async () => {
    const { file } = mount()
    const reserve = `${file}-reserve`
    const inbox = createSqliteInbox({ path: file })
    onTestFinished(() => inbox.close())
    await inbox.put(deliveryOf())
    expect(statSync(reserve).size).toBe(RESERVE)
    expect(readFileSync(reserve).subarray(-PAGE).equals(Buffer.alloc(PAGE))).toBe(false)
    utimesSync(reserve, 1, 1)
    await inbox.put(deliveryOf())
    expect(statSync(reserve)).toMatchObject({ size: RESERVE, mtimeMs: 1_000 })
    truncateSync(reserve, RESERVE - 1)
    await inbox.put(deliveryOf())
    expect(statSync(reserve).size).toBe(RESERVE)
  })

  it('leaves no part of the reserve if it cannot be written', async () => {
    const { file } = mount()
    const inbox = createSqliteInbox({ path: file })
    onTestFinished(() => inbox.close())
    const error = Object.assign(new Error('injected'), { code: 'EIO' })
    const handles: number[] = []
    const closed: number[] = []
    let isFailing = true
    replaceFs(
      'writeSync',
      (writeSync) =>
        ((handle: number, ...values: [never]) => {
          handles.push(handle)
          if (isFailing) throw error
          return writeSync(handle, ...values)
        }) as typeof writeSync,
    )
    replaceFs('closeSync', (closeSync) => (handle) => {
      closed.push(handle)
      closeSync(handle)
    })
    await expect(inbox.put(deliveryOf())).rejects.toBe(error)
    expect(statSync(`${file}-reserve`, { throwIfNoEntry: false })).toBeUndefined()
    expect(closed).toContain(handles[0])
    isFailing = false
    expect(await inbox.put(deliveryOf())).toBe('stored')
    expect(statSync(`${file}-reserve`).size).toBe(RESERVE)
  })

  it('rejects a file on a read-only disk with an error that names the fix', async () => {
    const disk = createDisk(8)
    onTestFinished(() => disk.remove())
    const path = join(disk.path, 'inbox.db')
    writeFileSync(path, '')
    disk.remount('ro')
    const inbox = createSqliteInbox({ path })
    await expect(inbox.stats()).rejects.toMatchObject({
      code: 'config_invalid',
      message: `${path} is on a read-only file system`,
      hint: 'Mount it for writing, or give another path.',
    })
    await inbox.close()
  })

  it('notices that a symbolic link now leads to another disk', async () => {
    const [first, second] = [mount(), mount()]
    const link = join(first.path, 'link.db')
    for (const { file } of [first, second]) {
      const inbox = createSqliteInbox({ path: file })
      await inbox.stats()
      await inbox.close()
    }
    // Only the numbers of the disks tell the two files apart.
    expect(statSync(first.file).ino).toBe(statSync(second.file).ino)
    symlinkSync(first.file, link)
    const inbox = createSqliteInbox({ path: link })
    onTestFinished(() => inbox.close())
    await inbox.put(deliveryOf())
    rmSync(link)
    symlinkSync(second.file, link)
    await expect(inbox.put(deliveryOf())).rejects.toThrow('was deleted or replaced')
    expect(await inbox.put(deliveryOf())).toBe('stored')
  })
})
