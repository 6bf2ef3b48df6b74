import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createFolder } from '../../helpers/folder.ts'

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

it('rejects with an error that names the package to install if there is no driver', async () => {
  hideNodeSqlite()
  vi.doMock('better-sqlite3', () => {
    throw new Error("Cannot find package 'better-sqlite3'")
  })
  const inbox = createSqliteInbox({ path: folder.fileIn('inbox.db') })
  await expect(inbox.stats()).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('neither node:sqlite nor better-sqlite3'),
    hint: expect.stringContaining('npm install better-sqlite3'),
  })
  await inbox.close()
})
