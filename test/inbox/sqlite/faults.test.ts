// @module-tag sqlite
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver } from 'geohook'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY } from '../../helpers/deliver.ts'
import type { Answer } from '../../helpers/http.ts'
import { lock } from '../../helpers/sqlite.ts'
import { createDisk, type Disk, describeWithDisks } from '../../helpers/tmpfs.ts'
import { type InboxServer, startInboxServer, useInboxServer } from './http-server.ts'

const REJECTED = {
  status: 503,
  headers: expect.objectContaining({ 'retry-after': expect.stringMatching(/^\d+$/) }),
  text: expect.stringContaining('inbox_unavailable'),
}

/** Lists the ids in a file through a new inbox, as another process would. */
async function idsIn(path: string): Promise<string[]> {
  const inbox = createSqliteInbox({ path })
  const ids = (await inbox.list({ limit: 1_000 })).entries.map(({ id }) => id)
  await inbox.close()
  return ids
}

describe('a SQLite inbox returns 503, loses nothing and recovers, if its file', () => {
  const fixture = useInboxServer()

  it('is locked for a long time by another process, while the server still responds to other requests', async () => {
    expect((await fixture.server.post()).status).toBe(202)
    const locker = await lock(fixture.path)
    const refused = Promise.all([fixture.server.post(), fixture.server.post(), fixture.server.post()])
    expect(await fixture.server.countResponsesUntil(refused)).toBeGreaterThan(20)
    for (const answer of await refused) expect(answer).toMatchObject(REJECTED)
    expect(await fixture.server.inbox.stats()).toMatchObject({ waiting: 1 })
    await locker.stop('SIGKILL')
    expect((await fixture.server.post()).status).toBe(202)
    expect(await idsIn(fixture.path)).toEqual(fixture.server.accepted)
  })

  it('is locked only briefly, which causes no 503', async () => {
    await fixture.server.post()
    const locker = await lock(fixture.path)
    let isAnswered = false
    const answer = fixture.server.post().finally(() => {
      isAnswered = true
    })
    await fixture.server.countResponsesUntil(new Promise((resolve) => setTimeout(resolve, 100)))
    expect(isAnswered).toBe(false)
    await locker.stop('SIGKILL')
    expect((await answer).status).toBe(202)
    expect(await idsIn(fixture.path)).toEqual(fixture.server.accepted)
  })

  it('is deleted', async () => {
    expect((await fixture.server.post()).status).toBe(202)
    for (const end of ['', '-wal', '-shm']) rmSync(`${fixture.path}${end}`)
    expect(await fixture.server.post()).toMatchObject(REJECTED)
    fixture.server.accepted.splice(0) // these deliveries were deleted with the file
    expect((await fixture.server.post()).status).toBe(202)
    expect((await idsIn(fixture.path)).length).toBe(1)
    expect(await idsIn(fixture.path)).toEqual(fixture.server.accepted)
  })

  it('is deleted with its folder, and the folder is created again later', async () => {
    await fixture.folder.remove()
    for (let i = 0; i < 3; i++) expect(await fixture.server.post()).toMatchObject(REJECTED)
    mkdirSync(fixture.folder.path)
    expect((await fixture.server.post()).status).toBe(202)
    expect(await idsIn(fixture.path)).toEqual(fixture.server.accepted)
  })

  it('is replaced by another file, and restored later', async () => {
    expect((await fixture.server.post()).status).toBe(202)
    await fixture.server.inbox.stats()
    const away = fixture.folder.fileIn('away')
    for (const end of ['', '-wal', '-shm']) renameSync(`${fixture.path}${end}`, `${away}${end}`)
    writeFileSync(fixture.path, 'not a database '.repeat(1_000))
    for (let i = 0; i < 3; i++) expect(await fixture.server.post()).toMatchObject(REJECTED)
    rmSync(fixture.path)
    for (const end of ['', '-wal', '-shm']) renameSync(`${away}${end}`, `${fixture.path}${end}`)
    expect((await fixture.server.post()).status).toBe(202)
    // The file may contain more ids, because a rejected delivery may have been stored anyway.
    expect(await idsIn(fixture.path)).toEqual(expect.arrayContaining(fixture.server.accepted))
  })
})

await describeWithDisks(() => {
  describe('a SQLite inbox returns 503, loses nothing and recovers, if its disk', () => {
    let disk: Disk
    let path = ''
    let server: InboxServer
    beforeEach(async () => {
      disk = createDisk(4)
      path = join(disk.path, 'inbox.db')
      server = await startInboxServer(path)
    })
    afterEach(async () => {
      await server.close()
      await disk.remove()
    })

    it('is full under load, and has space again later', async () => {
      const filler = join(disk.path, 'filler')
      writeFileSync(filler, Buffer.alloc(3 * 1024 * 1024))
      const answers: Answer[] = []
      const flood = (async () => {
        while (!answers.some(({ status }) => status !== 202))
          answers.push(...(await Promise.all(Array.from({ length: 8 }, () => server.post(20_000)))))
      })()
      await server.countResponsesUntil(flood)
      const refused = answers.filter(({ status }) => status !== 202)
      for (const answer of refused) expect(answer).toMatchObject(REJECTED)
      expect(server.accepted.length).toBeGreaterThan(0)
      expect(await server.post(60_000)).toMatchObject(REJECTED)
      expect((await server.inbox.list({ limit: 1_000 })).entries.length).toBe(server.accepted.length)
      rmSync(filler)
      expect((await server.post(60_000)).status).toBe(202)
      expect((await idsIn(path)).sort()).toEqual(server.accepted.sort())
      const handled: string[] = []
      server.inbox.work(
        createReceiver({ signatureKey: KEY }).on('*', (_, { id }) => handled.push(id)),
        { concurrency: 20 },
      )
      await until(() => handled.length === server.accepted.length)
      expect(handled.sort()).toEqual(server.accepted.sort())
    })

    it('is read-only when the inbox opens its file, and writable later', async () => {
      expect((await server.post()).status).toBe(202)
      await server.inbox.close()
      disk.remount('ro')
      const again = await startInboxServer(path)
      try {
        for (let i = 0; i < 3; i++) expect(await again.post()).toMatchObject(REJECTED)
        disk.remount('rw')
        expect((await again.post()).status).toBe(202)
        expect(await idsIn(path)).toEqual([...server.accepted, ...again.accepted])
      } finally {
        await again.close()
      }
    })
  })
})
