// @module-tag sqlite

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFolder, geohook } from '../../helpers/cli.ts'
import { fill, payloads } from '../../helpers/dead-letters.ts'
import { startNode } from '../../helpers/process.ts'
import { examples } from '../../helpers/readme.ts'
import { openDatabase } from '../../helpers/sqlite.ts'

const folder = createFolder()
const path = join(folder.path, 'inbox.db')
let inbox: DurableInbox
beforeAll(async () => {
  inbox = createSqliteInbox({ path })
  await fill(inbox, payloads(20))
})
afterAll(() => inbox.close())

const backUp = (file: string, ...args: string[]) =>
  geohook(['inbox', 'backup', file, '--store', path, ...args])

describe('geohook inbox backup', () => {
  it('copies an inbox that is in use, including its write-ahead log', async () => {
    // Most data is in the write-ahead log, so copying the database file alone would not be enough.
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(statSync(path).size)
    const file = join(folder.path, 'copy.db')
    expect(await backUp(file)).toEqual({ code: 0, stdout: `saved as ${file}\n`, stderr: '' })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder.path).filter((name) => name.startsWith('copy'))).toEqual(['copy.db'])
    const db = openDatabase(file)
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    expect(db.prepare('PRAGMA auto_vacuum').get()).toEqual({ auto_vacuum: 2 })
    db.close()
    const copy = createSqliteInbox({ path: file })
    try {
      expect(await copy.stats()).toEqual(await inbox.stats())
      expect(await copy.list()).toEqual(await inbox.list())
      for (const { id } of (await inbox.list()).entries)
        expect(await copy.get(id)).toEqual(await inbox.get(id))
    } finally {
      await copy.close()
    }
  })

  it('is also available as backupSqliteInbox(), whose documented example runs', async () => {
    const example = examples.find((code) => code.includes('backupSqliteInbox')) ?? ''
    const code = example
      .replace("'inbox.db'", JSON.stringify(path))
      .replace('`inbox-', `\`${folder.path}/inbox-`)
    expect(await startNode(['--input-type=module', '--eval', code]).exited).toBe(0)
    expect(readdirSync(folder.path)).toContainEqual(expect.stringMatching(/^inbox-\d+\.db$/))
  })

  it('prints JSON', async () => {
    const file = join(folder.path, 'json.db')
    const { code, stdout } = await backUp(file, '--json')
    expect([code, JSON.parse(stdout)]).toEqual([0, { file }])
  })

  it('does not overwrite an existing file', async () => {
    const file = join(folder.path, 'there.db')
    writeFileSync(file, 'mine')
    const result = await backUp(file)
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('exists already') })
    expect(readFileSync(file, 'utf8')).toBe('mine')
    expect(await backUp(path)).toMatchObject({ code: 2, stderr: expect.stringContaining('exists already') })
  })

  it.each([
    ['a missing folder', ['missing/copy.db'], 'a folder that does not exist'],
    [
      'an inbox in PostgreSQL',
      ['copy2.db', '--store', 'postgres://127.0.0.1:1/db'],
      'this command can back up only SQLite inboxes',
    ],
    ['a missing inbox', ['copy2.db', '--store', 'missing.db'], 'no such file'],
    ['no file', [], "missing required argument 'file'"],
  ])('refuses %s, and leaves no file', async (_, [file, ...args], message) => {
    const named = file === undefined ? [] : [join(folder.path, file)]
    const result = await geohook([
      'inbox',
      'backup',
      ...named,
      ...(args.length > 0 ? args : ['--store', path]),
    ])
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
    expect(existsSync(named[0] ?? '')).toBe(false)
    expect(readdirSync(folder.path).filter((name) => name.includes('-part'))).toEqual([])
  })
})
