import { createReceiver } from 'geohook'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSqliteInbox } from '../../../src/inbox/sqlite/index.ts'
import { deliver, KEY, payloadOf } from '../../helpers/deliver.ts'
import { createFolder } from '../../helpers/folder.ts'
import { SqliteDatabase } from '../../helpers/sqlite.ts'
import { warningsOf } from '../../helpers/warnings.ts'
import { deliveryOf } from '../deliveries.ts'

let folder: ReturnType<typeof createFolder>
beforeEach(() => {
  folder = createFolder()
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.doUnmock('better-sqlite3')
  await folder.remove()
})

/** Simulates a version of Node without `node:sqlite`. */
function hideNodeSqlite() {
  const { getBuiltinModule } = process
  return vi
    .spyOn(process, 'getBuiltinModule')
    .mockImplementation((id: string) => (id === 'node:sqlite' ? undefined : getBuiltinModule(id)) as never)
}

it('prefers node:sqlite, then better-sqlite3', { tags: ['better-sqlite3'] }, async () => {
  const getBuiltinModule = hideNodeSqlite()
  const inbox = createSqliteInbox({ path: folder.fileIn('inbox.db') })
  expect(await inbox.stats()).toMatchObject({ waiting: 0 })
  expect(getBuiltinModule).toHaveBeenCalledWith('node:sqlite')
  await inbox.close()
})

/** Simulates a version of Node with `node:sqlite`. Returns the paths that it opens. */
function showNodeSqlite(): string[] {
  const opened: string[] = []
  class DatabaseSync extends SqliteDatabase {
    constructor(path: string) {
      super(path)
      opened.push(path)
    }
  }
  const { getBuiltinModule } = process
  vi.spyOn(process, 'getBuiltinModule').mockImplementation(
    (id: string) => (id === 'node:sqlite' ? { DatabaseSync } : getBuiltinModule(id)) as never,
  )
  return opened
}

it('uses node:sqlite if this version of Node has it', { tags: ['sqlite'] }, async () => {
  const opened = showNodeSqlite()
  const inbox = createSqliteInbox({ path: folder.fileIn('inbox.db') })
  expect(await inbox.put(deliveryOf())).toBe('stored')
  expect(opened).toEqual([folder.fileIn('inbox.db')])
  await inbox.close()
})

it('loads the driver before the first operation', async () => {
  showNodeSqlite()
  const inbox = createSqliteInbox({ path: folder.fileIn('inbox.db') })
  expect(process.getBuiltinModule).toHaveBeenCalledWith('node:sqlite')
  await inbox.close()
})

describe('without a driver', () => {
  const INSTALL = 'neither node:sqlite nor better-sqlite3: .*npm install better-sqlite3'

  function hideDrivers(): void {
    hideNodeSqlite()
    vi.doMock('better-sqlite3', () => {
      throw new Error("Cannot find package 'better-sqlite3'")
    })
  }

  it('rejects with an error that names the package to install', async () => {
    hideDrivers()
    const inbox = createSqliteInbox({ path: folder.fileIn('inbox.db') })
    await expect(inbox.stats()).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(INSTALL),
    })
    await inbox.close()
  })

  it('rejects with the same error if better-sqlite3 was compiled for another version of Node', async () => {
    hideNodeSqlite()
    const cause = new Error('was compiled against a different Node.js version')
    vi.doMock('better-sqlite3', () => ({
      default: class {
        constructor() {
          throw cause
        }
      },
    }))
    const inbox = createSqliteInbox({ path: folder.fileIn('inbox.db') })
    await expect(inbox.stats()).rejects.toMatchObject({ message: expect.stringMatching(INSTALL), cause })
    await inbox.close()
  })

  it('works as soon as there is one', { tags: ['sqlite'] }, async () => {
    hideDrivers()
    const inbox = createSqliteInbox({ path: folder.fileIn('inbox.db') })
    await expect(inbox.stats()).rejects.toThrow()
    vi.restoreAllMocks()
    showNodeSqlite()
    expect(await inbox.stats()).toMatchObject({ waiting: 0 })
    await inbox.close()
  })

  it('warns when a delivery cannot be stored', async () => {
    hideDrivers()
    const inbox = createSqliteInbox({ path: folder.fileIn('inbox.db') })
    await expect(inbox.stats()).rejects.toThrow() // without this call, the missing driver would end the process
    const receiver = createReceiver({ signatureKey: KEY, inbox })
    const lines = await warningsOf(async () => {
      expect((await deliver(receiver, payloadOf('A'))).status).toBe(503)
    })
    await inbox.close()
    expect(lines).toEqual([expect.stringMatching(`^inbox_unavailable: .*${INSTALL}`)])
  })
})
