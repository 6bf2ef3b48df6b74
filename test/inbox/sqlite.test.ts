import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createReceiver, type Delivery } from 'geohook'
import { createSqliteDuplicates, createSqliteInbox, type DurableInbox } from 'geohook/sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { uniquePayload, until } from '../contract/inbox/fixture.ts'
import { deliver, KEY } from '../helpers/deliver.ts'
import { createFolder } from '../helpers/folder.ts'
import { openDatabase, SqliteDatabase } from '../helpers/sqlite.ts'

let folder: ReturnType<typeof createFolder>
let path = ''
let opened: { close(): Promise<void> }[] = []
beforeEach(() => {
  folder = createFolder()
  path = folder.fileIn('inbox.db')
  opened = []
})
afterEach(async () => {
  await Promise.all(opened.map((one) => one.close()))
  await folder.remove()
})

const keep = <One extends { close(): Promise<void> }>(one: One): One => {
  opened.push(one)
  return one
}
const open = (options = {}): DurableInbox => keep(createSqliteInbox({ path, ...options }))
const send = async (inbox: DurableInbox, payload = uniquePayload()): Promise<number> =>
  (await deliver(createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } }), payload)).status

let number = 0
const deliveryOf = (rawBody = new Uint8Array(10)): Delivery => ({
  id: `${number++}`.padStart(32, '0'),
  rawBody,
  contentType: 'application/json',
  headers: {},
  receivedAt: new Date(),
  profile: 'service',
  payload: {},
  events: [],
  changeTypes: [],
})

/** How many transactions are in the log of the database: the last page of each bears the size of the whole. */
function commitsOf(path: string): number {
  const log = readFileSync(`${path}-wal`)
  const frame = 24 + log.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) > 0) commits++
  return commits
}

describe('transactions', () => {
  it('what comes at once shares them, what comes one by one does not', async () => {
    const inbox = open()
    await inbox.put(deliveryOf())
    const start = commitsOf(path)
    await Promise.all(Array.from({ length: 50 }, () => inbox.put(deliveryOf())))
    expect(commitsOf(path) - start).toBe(1)
    for (let i = 0; i < 10; i++) await inbox.put(deliveryOf())
    expect(commitsOf(path) - start).toBe(11)
    expect(await inbox.stats()).toMatchObject({ waiting: 61 })
  })

  it('50 requests at once share few', async () => {
    const inbox = open()
    await send(inbox)
    const start = commitsOf(path)
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(inbox)))
    expect(answers.filter((status) => status === 202).length).toBe(50)
    expect(commitsOf(path) - start).toBeLessThanOrEqual(5)
  })

  it('what fails in them by itself leaves nothing, and the others alone', async () => {
    const inbox = open()
    const bodyless = { ...deliveryOf(), rawBody: { length: 3 } as Uint8Array }
    const nameless = { ...deliveryOf(), id: {} as string }
    const all = [deliveryOf(), bodyless, deliveryOf(), nameless, deliveryOf()]
    const ends = await Promise.allSettled(all.map((one) => inbox.put(one)))
    const [stored, failed] = ['fulfilled', 'rejected']
    expect(ends.map(({ status }) => status)).toEqual([stored, failed, stored, failed, stored])
    expect((await inbox.list()).entries.map(({ id }) => id)).toEqual([all[0]?.id, all[2]?.id, all[4]?.id])
    expect(await inbox.stats()).toMatchObject({ waiting: 3 })
  })

  it('what comes at once is no more than maxPending, from several inboxes', async () => {
    const [first, second] = [open({ maxPending: 7 }), open({ maxPending: 7 })]
    const puts = Array.from({ length: 20 }, (_, i) => (i % 2 ? first : second).put(deliveryOf()))
    const ends = await Promise.allSettled(puts)
    expect(ends.filter(({ status }) => status === 'fulfilled').length).toBe(7)
    expect((await first.list()).entries.length).toBe(7)
  })
})

describe('the file', () => {
  it.skipIf(process.platform === 'win32')('is for its owner alone, and what is beside it', async () => {
    const before = process.umask(0)
    try {
      await send(open())
    } finally {
      process.umask(before)
    }
    const modes = readdirSync(folder.path).map((name) => [
      name,
      (statSync(folder.fileIn(name)).mode & 0o777).toString(8),
    ])
    expect(modes.sort()).toEqual([
      ['inbox.db', '600'],
      ['inbox.db-shm', '600'],
      ['inbox.db-wal', '600'],
    ])
  })

  it('is made when it is first used, and alone when all are closed', async () => {
    const inbox = open()
    expect(existsSync(path)).toBe(false)
    await inbox.stats()
    expect(existsSync(path)).toBe(true)
    await inbox.close()
    expect(readdirSync(folder.path)).toEqual(['inbox.db'])
  })

  it('is written through to the disk with each transaction', async () => {
    const exec = vi.spyOn(SqliteDatabase.prototype, 'exec')
    await send(open())
    const [db] = exec.mock.contexts
    exec.mockRestore()
    expect(db?.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(db?.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
  })

  it('becomes smaller when what was in it is removed', async () => {
    const inbox = open()
    for (let i = 0; i < 40; i++) await inbox.put(deliveryOf(new Uint8Array(100_000)))
    await inbox.close()
    expect(statSync(path).size).toBeGreaterThan(4_000_000)
    const again = open()
    again.work({ handle: async () => {} }, { concurrency: 40 })
    await until(async () => (await again.stats()).done === 40)
    expect(await again.purge({ state: 'done' })).toBe(40)
    await again.close()
    expect(statSync(path).size).toBeLessThan(400_000)
  })

  it('is of an inbox and of a store of duplicates at once', async () => {
    const inbox = open()
    const duplicates = keep(createSqliteDuplicates({ path }))
    const claims = Promise.all([duplicates.claim('a'), duplicates.claim('a'), inbox.put(deliveryOf())])
    expect(await claims).toEqual(['claimed', 'busy', 'stored'])
  })

  const ofOthers: [string, (path: string) => void][] = [
    [
      'of another program',
      (path) => {
        const db = openDatabase(path)
        db.exec('CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)')
        db.close()
      },
    ],
    [
      'of another program that has marked it as its own',
      (path) => {
        const db = openDatabase(path)
        db.exec('PRAGMA application_id = 7')
        db.close()
      },
    ],
    [
      'with a write-ahead log, of another program',
      (path) => {
        const db = openDatabase(path)
        db.exec('PRAGMA journal_mode = WAL; CREATE TABLE theirs (a)')
        db.close()
      },
    ],
    ['that is no database', (path) => writeFileSync(path, 'a letter to somebody '.repeat(100))],
  ]
  it.each(ofOthers)('%s is refused and left as it is', async (_, make) => {
    make(path)
    const bytes = readFileSync(path)
    const inbox = open()
    await expect(inbox.stats()).rejects.toThrow(/no inbox of geohook|not a database/)
    expect(await send(inbox)).toBe(503)
    await inbox.close()
    expect(readFileSync(path).equals(bytes)).toBe(true)
    expect(readdirSync(folder.path)).toEqual(['inbox.db'])
  })

  it('of a newer version is refused and left as it is', async () => {
    const older = open()
    await send(older)
    await older.close()
    const db = openDatabase(path)
    db.exec('PRAGMA user_version = 2')
    db.close()
    const bytes = readFileSync(path)
    const inbox = open()
    await expect(inbox.put(deliveryOf())).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('another version of geohook'),
    })
    await inbox.close()
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })

  it.each([undefined, '', ':memory:', 7, 'file:inbox.db', ' inbox.db', 'inbox.db\n', 'a\0b'])(
    'is not %j',
    (path) => {
      for (const create of [createSqliteInbox, createSqliteDuplicates])
        expect(() => create({ path: path as string })).toThrow(
          expect.objectContaining({ code: 'config_invalid' }),
        )
    },
  )

  it('is where it was meant to be, when the working directory changes', async () => {
    const before = process.cwd()
    let inbox: DurableInbox | undefined
    try {
      process.chdir(folder.path)
      inbox = keep(createSqliteInbox({ path: 'here.db' }))
    } finally {
      process.chdir(before)
    }
    await inbox.stats()
    expect(existsSync(folder.fileIn('here.db'))).toBe(true)
  })
})
