// @module-tag sqlite

import { copyFileSync, rmSync } from 'node:fs'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { useInboxServer } from './http-server.ts'

describe('an inbox whose write-ahead log is deleted while it is open', () => {
  const fixture = useInboxServer()

  const ENDS = [['-wal'], ['-shm'], ['-wal', '-shm']]
  it.each(ENDS)('returns 503 once and keeps all 150 deliveries: %s %s', async (...ends) => {
    // Without its check every second, the inbox notices the deleted file in the next call.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    await Promise.all(Array.from({ length: 150 }, () => fixture.server.post()))
    for (const end of ends) rmSync(`${fixture.path}${end}`)
    expect(await fixture.server.post()).toMatchObject({
      status: 503,
      text: expect.stringContaining('inbox_unavailable'),
    })
    expect((await fixture.server.post()).status).toBe(202)
    expect(fixture.server.accepted.length).toBe(151)
    // A second inbox sees only the deliveries that would remain if the process of the first inbox were killed.
    const other = createSqliteInbox({ path: fixture.path })
    const ids = (await other.list({ limit: 1_000 })).entries.map(({ id }) => id)
    await other.close()
    expect(ids).toEqual(expect.arrayContaining(fixture.server.accepted))
    const db = openDatabase(fixture.path)
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    db.close()
  })

  it('detects the deletion without a new delivery, and moves all deliveries into the database', async () => {
    await Promise.all(Array.from({ length: 150 }, () => fixture.server.post()))
    rmSync(`${fixture.path}-wal`)
    // Read a copy. The new log of a connection to the original could keep the inbox from saving the deleted log.
    const copy = fixture.folder.fileIn('copy.db')
    await until(async () => {
      rmSync(copy, { force: true })
      copyFileSync(fixture.path, copy)
      const inbox = createSqliteInbox({ path: copy })
      const { waiting } = await inbox.stats()
      await inbox.close()
      return waiting === 150
    })
  })
})
