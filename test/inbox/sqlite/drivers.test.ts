import { once } from 'node:events'
import { createReceiver } from 'geohook'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { deliver, KEY, payloadOf } from '../../helpers/deliver.ts'
import { createFolder } from '../../helpers/folder.ts'
import { warningsOf } from '../../helpers/warnings.ts'

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

  it('warns as soon as work() is called', async () => {
    hideDrivers()
    const inbox = createSqliteInbox({ path: folder.fileIn('inbox.db') })
    const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', () => {})
    const lines = await warningsOf(async () => {
      inbox.work(receiver)
      await once(process, 'warning')
    })
    await inbox.close()
    expect(lines).toEqual([expect.stringMatching(`^inbox_unavailable: .*${INSTALL}`)])
  })

  it('warns when a delivery cannot be stored', async () => {
    hideDrivers()
    const inbox = createSqliteInbox({ path: folder.fileIn('inbox.db') })
    const receiver = createReceiver({ signatureKey: KEY, inbox })
    const lines = await warningsOf(async () => {
      expect((await deliver(receiver, payloadOf('A'))).status).toBe(503)
    })
    await inbox.close()
    expect(lines).toEqual([expect.stringMatching(`^inbox_unavailable: .*${INSTALL}`)])
  })
})
