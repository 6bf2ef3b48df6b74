// @module-tag sqlite
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver } from 'geohook'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY } from '../../helpers/deliver.ts'
import { createFolder } from '../../helpers/folder.ts'
import type { Answer } from '../../helpers/http.ts'
import { lock } from '../../helpers/sqlite.ts'
import { createDisk, type Disk, describeWithDisks } from '../../helpers/tmpfs.ts'
import { type Served, serve } from './http-server.ts'

const REFUSED = {
  status: 503,
  headers: expect.objectContaining({ 'retry-after': expect.stringMatching(/^\d+$/) }),
  text: expect.stringContaining('inbox_unavailable'),
}

/** What is in a file, as another process sees it. */
async function idsIn(path: string): Promise<string[]> {
  const inbox = createSqliteInbox({ path })
  const ids = (await inbox.list({ limit: 1_000 })).entries.map(({ id }) => id)
  await inbox.close()
  return ids
}

describe('a SQLite inbox answers 503, loses nothing, and goes on, when its file', () => {
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

  it('is locked for long by another process, and meanwhile the server does other things', async () => {
    expect((await served.post()).status).toBe(202)
    const locker = await lock(path)
    const refused = Promise.all([served.post(), served.post(), served.post()])
    expect(await served.answeredUntil(refused)).toBeGreaterThan(20)
    for (const answer of await refused) expect(answer).toMatchObject(REFUSED)
    expect(await served.inbox.stats()).toMatchObject({ waiting: 1 })
    await locker.stop('SIGKILL')
    expect((await served.post()).status).toBe(202)
    expect(await idsIn(path)).toEqual(served.accepted)
  })

  it('is locked for a moment: then nobody is refused', async () => {
    await served.post()
    const locker = await lock(path)
    let isAnswered = false
    const answer = served.post().finally(() => {
      isAnswered = true
    })
    await served.answeredUntil(new Promise((resolve) => setTimeout(resolve, 100)))
    expect(isAnswered).toBe(false)
    await locker.stop('SIGKILL')
    expect((await answer).status).toBe(202)
    expect(await idsIn(path)).toEqual(served.accepted)
  })

  it('is removed', async () => {
    expect((await served.post()).status).toBe(202)
    for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`)
    expect(await served.post()).toMatchObject(REFUSED)
    served.accepted.splice(0) // they went with the file
    expect((await served.post()).status).toBe(202)
    expect((await idsIn(path)).length).toBe(1)
    expect(await idsIn(path)).toEqual(served.accepted)
  })

  it('is away for a while, with its folder', async () => {
    await folder.remove()
    for (let i = 0; i < 3; i++) expect(await served.post()).toMatchObject(REFUSED)
    mkdirSync(folder.path)
    expect((await served.post()).status).toBe(202)
    expect(await idsIn(path)).toEqual(served.accepted)
  })

  it('is replaced by something else, and comes back', async () => {
    expect((await served.post()).status).toBe(202)
    await served.inbox.stats()
    const away = folder.fileIn('away')
    for (const end of ['', '-wal', '-shm']) renameSync(`${path}${end}`, `${away}${end}`)
    writeFileSync(path, 'a letter to somebody '.repeat(1_000))
    for (let i = 0; i < 3; i++) expect(await served.post()).toMatchObject(REFUSED)
    rmSync(path)
    for (const end of ['', '-wal', '-shm']) renameSync(`${away}${end}`, `${path}${end}`)
    expect((await served.post()).status).toBe(202)
    // One that was refused may be there as well: its retry is a duplicate.
    expect(await idsIn(path)).toEqual(expect.arrayContaining(served.accepted))
  })
})

await describeWithDisks(() => {
  describe('a SQLite inbox answers 503, loses nothing, and goes on, when its disk', () => {
    let disk: Disk
    let path = ''
    let served: Served
    beforeEach(async () => {
      disk = createDisk(4)
      path = join(disk.path, 'inbox.db')
      served = await serve(path)
    })
    afterEach(async () => {
      await served.close()
      await disk.remove()
    })

    it('is full, under load, and then has room again', async () => {
      const filler = join(disk.path, 'filler')
      writeFileSync(filler, Buffer.alloc(3 * 1024 * 1024))
      const answers: Answer[] = []
      const flood = (async () => {
        while (!answers.some(({ status }) => status !== 202))
          answers.push(...(await Promise.all(Array.from({ length: 8 }, () => served.post(20_000)))))
      })()
      await served.answeredUntil(flood)
      const refused = answers.filter(({ status }) => status !== 202)
      for (const answer of refused) expect(answer).toMatchObject(REFUSED)
      expect(served.accepted.length).toBeGreaterThan(0)
      expect(await served.post(60_000)).toMatchObject(REFUSED)
      expect((await served.inbox.list({ limit: 1_000 })).entries.length).toBe(served.accepted.length)
      rmSync(filler)
      expect((await served.post(60_000)).status).toBe(202)
      expect((await idsIn(path)).sort()).toEqual(served.accepted.sort())
      const handled: string[] = []
      served.inbox.work(
        createReceiver({ signatureKey: KEY }).on('*', (_, { id }) => handled.push(id)),
        { concurrency: 20 },
      )
      await until(() => handled.length === served.accepted.length)
      expect(handled.sort()).toEqual(served.accepted.sort())
    })

    it('is read-only when it opens its file, and then no more', async () => {
      expect((await served.post()).status).toBe(202)
      await served.inbox.close()
      disk.remount('ro')
      const again = await serve(path)
      try {
        for (let i = 0; i < 3; i++) expect(await again.post()).toMatchObject(REFUSED)
        disk.remount('rw')
        expect((await again.post()).status).toBe(202)
        expect(await idsIn(path)).toEqual([...served.accepted, ...again.accepted])
      } finally {
        await again.close()
      }
    })
  })
})
