// @module-tag sqlite
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteDuplicates, createSqliteInbox, createSqliteRows } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { deliveryOf } from '../deliveries.ts'
import { replaceFs } from './faulty-calls.ts'
import { useFolder } from './fixture.ts'

const fixture = useFolder()
const { open, keep } = fixture

describe('the path of a SQLite file', () => {
  it.each([undefined, {}, { path: undefined }, { path: '' }])('is required: %j', (options) => {
    for (const create of [createSqliteInbox, createSqliteDuplicates, createSqliteRows])
      expect(() => create(options as never)).toThrow(
        expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(/^path /) }),
      )
  })

  it.each([':memory:', 7])('must not be %j', (path) => {
    expect(() => createSqliteInbox({ path: path as string })).toThrow(
      expect.objectContaining({
        message: 'path must be the path of a file',
        hint: 'For an inbox in memory, use createMemoryInbox().',
      }),
    )
  })

  it.each(['file:inbox.db', '\tinbox.db', 'inbox.db ', 'a\0b'])('must not be %j', (path) => {
    expect(() => createSqliteInbox({ path })).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(
          /^path must not begin with file:, begin or end with white space, or contain a NUL/,
        ),
      }),
    )
  })

  it('may contain white space and colons', async () => {
    expect(
      await keep(createSqliteInbox({ path: fixture.folder.fileIn('my file: b.db') })).stats(),
    ).toMatchObject({
      waiting: 0,
    })
  })

  it('may be a link with an absolute target that does not exist yet', async () => {
    const link = fixture.folder.fileIn('link.db')
    symlinkSync(join(fixture.folder.path, 'target.db'), link)
    const inbox = keep(createSqliteInbox({ path: link }))
    await inbox.put(deliveryOf())
    expect(
      (await keep(createSqliteInbox({ path: fixture.folder.fileIn('target.db') })).stats()).waiting,
    ).toBe(1)
  })

  it.each(['EACCES', 'EPERM'])('is rejected with the fix if access is denied: %s', async (code) => {
    replaceFs('openSync', () => () => {
      throw Object.assign(new Error('injected'), { code })
    })
    await expect(open().stats()).rejects.toMatchObject({
      code: 'config_invalid',
      message: `${fixture.path} cannot be read and written`,
      hint: 'Give this user access to the file and its folder.',
    })
  })
})
