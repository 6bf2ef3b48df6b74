// @module-tag sqlite
import { existsSync, readdirSync, statSync } from 'node:fs'
import { createSqliteInbox, type DurableInbox } from 'geohook/sqlite'
import { expect, it } from 'vitest'
import { send, useFolder } from './fixture.ts'

const fixture = useFolder()

it.skipIf(process.platform === 'win32')(
  'the file of a SQLite inbox is readable by its owner only, like its log files',
  async () => {
    const before = process.umask(0)
    try {
      await send(fixture.open())
    } finally {
      process.umask(before)
    }
    const modes = readdirSync(fixture.folder.path).map((name) => [
      name,
      (statSync(fixture.folder.fileIn(name)).mode & 0o777).toString(8),
    ])
    expect(modes.sort()).toEqual([
      ['inbox.db', '600'],
      ['inbox.db-reserve', '600'],
      ['inbox.db-shm', '600'],
      ['inbox.db-wal', '600'],
    ])
  },
)

it('the file of a SQLite inbox does not change if the working directory changes', async () => {
  const before = process.cwd()
  let inbox: DurableInbox | undefined
  try {
    process.chdir(fixture.folder.path)
    inbox = fixture.keep(createSqliteInbox({ path: 'here.db' }))
  } finally {
    process.chdir(before)
  }
  await inbox.stats()
  expect(existsSync(fixture.folder.fileIn('here.db'))).toBe(true)
})
