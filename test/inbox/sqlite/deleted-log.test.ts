// @module-tag sqlite

import { copyFileSync, rmSync } from 'node:fs'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createFolder } from '../../helpers/folder.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { describeLosingParts } from './deleted-log.ts'
import { type Served, serve } from './http-server.ts'

describe('if the write-ahead log is deleted while the inbox is open, it', () => {
  let folder: ReturnType<typeof createFolder>
  let path = ''
  let served: Served
  beforeEach(async () => {
    folder = createFolder()
    path = folder.fileIn('inbox.db')
    served = await serve(path)
  })
  afterEach(async () => {
    await served.close()
    await folder.remove()
  })

  const ENDS = [['-wal'], ['-shm'], ['-wal', '-shm']]
  it.each(ENDS)('answers 503 once and keeps all 150 deliveries: %s %s', async (...ends) => {
    await Promise.all(Array.from({ length: 150 }, () => served.post()))
    for (const end of ends) rmSync(`${path}${end}`)
    expect(await served.post()).toMatchObject({
      status: 503,
      text: expect.stringContaining('inbox_unavailable'),
    })
    expect((await served.post()).status).toBe(202)
    expect(served.accepted.length).toBe(151)
    // As another process sees it, which is all that is left when this one is killed.
    const other = createSqliteInbox({ path })
    const ids = (await other.list({ limit: 1_000 })).entries.map(({ id }) => id)
    await other.close()
    expect(ids).toEqual(expect.arrayContaining(served.accepted))
    const db = openDatabase(path)
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    db.close()
  })

  it('sees it also while nothing arrives, and moves all deliveries into the database', async () => {
    await Promise.all(Array.from({ length: 150 }, () => served.post()))
    rmSync(`${path}-wal`)
    // Nothing but the database itself is looked at: no other process may open it before the log is saved.
    const copy = folder.fileIn('copy.db')
    await until(async () => {
      rmSync(copy, { force: true })
      copyFileSync(path, copy)
      const inbox = createSqliteInbox({ path: copy })
      const { waiting } = await inbox.stats()
      await inbox.close()
      return waiting === 150
    })
  })
})

describeLosingParts({ processes: 1, losses: 3 })
