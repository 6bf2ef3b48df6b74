// @module-tag sqlite
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFolder, geohook } from '../../helpers/cli.ts'
import { fill, payloads } from '../../helpers/dead-letters.ts'
import { openDatabase } from '../../helpers/sqlite.ts'

/** A password that occurs in no other text, so that tests can search outputs for it. */
const PASSWORD = 'Geheimnis/0123456789'
const folder = createFolder()
const path = join(folder.path, 'inbox.db')
let inbox: DurableInbox
const missing = join(folder.path, 'missing.db')

beforeAll(async () => {
  inbox = createSqliteInbox({ path })
  await fill(inbox, payloads(1))
})
afterAll(() => inbox.close())

const stats = (...args: string[]) => geohook(['inbox', 'stats', ...args])

describe.concurrent('geohook inbox reads the store from', () => {
  it.each<[string, string[], Record<string, string>]>([
    ['--store', ['--store', path], {}],
    ['--store sqlite:', ['--store', `sqlite:${path}`], {}],
    ['--store-env', ['--store-env', 'MY_INBOX'], { MY_INBOX: path }],
    ['--store-file', ['--store-file', folder.file('store.txt', `${path}\n`)], {}],
    ['GEOHOOK_INBOX', [], { GEOHOOK_INBOX: path }],
    ['an option that overrides GEOHOOK_INBOX', ['--store', path], { GEOHOOK_INBOX: missing }],
  ])('%s', async (_, args, env) => {
    const { code, stdout } = await geohook(['inbox', 'stats', '--json', ...args], { env })
    expect(code).toBe(0)
    expect(JSON.parse(stdout).waiting).toBe(1)
  })
})

describe('geohook inbox refuses', () => {
  const text = folder.file('text.db', 'not a database')
  const empty = folder.file('empty.db', '')
  const foreign = join(folder.path, 'foreign.db')
  beforeAll(() => {
    const other = openDatabase(foreign)
    other.exec('CREATE TABLE parcel (id)')
    other.close()
  })

  it.each<[string, string[], string]>([
    ['a missing store', [], 'the inbox is missing'],
    ['a missing file', ['--store', missing], 'in --store: no such file'],
    ['a file in a missing folder', ['--store', join(missing, 'x')], 'no such file'],
    ['a folder', ['--store', folder.path], 'it is a folder'],
    ['a text file', ['--store', text], 'it is not a SQLite file'],
    ['an empty file', ['--store', empty], 'it is not a SQLite file'],
    ['a foreign database', ['--store', foreign], 'is a database, but not an inbox'],
    ['an unknown scheme', ['--store', `mysql://u:${PASSWORD}@h/db`], 'has an unknown scheme'],
    ['a Redis URL', ['--store', `redis://:${PASSWORD}@h`], 'geohook has no inbox in Redis'],
    ['a Redis URL with TLS', ['--store', `rediss://:${PASSWORD}@h`], 'geohook has no inbox in Redis'],
    ['an unescaped password', ['--store', `postgres://u:${PASSWORD}@h/db`], 'is not a URL'],
    ['two sources', ['--store', path, '--store-env', 'X'], 'cannot be mixed'],
    ['two stores', ['--store', path, '--store', path], 'only one store can be used'],
    ['an empty store', ['--store', ''], 'the store in --store is empty'],
    ['a missing --store-file', ['--store-file', missing], 'cannot read the file of --store-file'],
    [
      '--schema of SQLite',
      ['--store', path, '--schema', 'x'],
      '--schema does not apply to this kind of store',
    ],
    ['--queue of SQLite', ['--store', path, '--queue', 'x'], '--queue does not apply to this kind of store'],
    ['an invalid schema', ['--store', 'postgres://h/db', '--schema', 'a b'], 'schema must be'],
    ['an empty queue', ['--store', 'postgres://h/db', '--queue', ''], '--queue is empty'],
  ])('%s', async (_, args, message) => {
    const result = await stats(...args)
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(result.stderr).toContain(message)
    expect(result.stderr).not.toContain(PASSWORD)
    const asJson = await stats(...args, '--json')
    expect(asJson).toMatchObject({ code: 2, stdout: '' })
    expect(JSON.parse(asJson.stderr).error.message).toContain(message)
  })

  it('a Redis URL with a code, and says where deliveries can be queued instead', async () => {
    const { stderr } = await stats('--store', 'redis://h', '--json')
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'store_unsupported',
      hint: expect.stringMatching(/packDelivery\(\).*docs\/queues\.md/),
    })
  })

  it('all of the above without creating or changing a file', () => {
    expect(existsSync(missing)).toBe(false)
    expect(readFileSync(text, 'utf8')).toBe('not a database')
    expect(readFileSync(empty, 'utf8')).toBe('')
    const database = openDatabase(foreign)
    const tables = database.prepare('SELECT group_concat(name) AS names FROM sqlite_schema').get()
    database.close()
    expect(tables).toEqual({ names: 'parcel' })
  })
})

describe.concurrent('geohook inbox exits with 2 for wrong usage', () => {
  const id = '0'.repeat(32)
  it.each<[string[], string]>([
    [['list', '--state', 'lost'], '--state <name>: Allowed choices are waiting'],
    [['list', '--limit', '0'], '--limit <n>: must be a whole number from 1 to 1000'],
    [['list', '--after', 'x'], 'after must be'],
    [['show'], "missing required argument 'id'"],
    [['show', PASSWORD], 'id: must be 32 hex digits'],
    [['retry'], 'give either ids, --dead or --unhandled'],
    [['retry', id, '--dead'], 'give either ids, --dead or --unhandled'],
    [['retry', '--dead', '--unhandled'], 'give either ids, --dead or --unhandled'],
    [['retry', PASSWORD], 'ids: must be 32 hex digits'],
    [['discard', '--dead'], '--dead discards all dead letters permanently\nAdd --yes'],
    [['discard', '--unhandled'], '--unhandled discards all unhandled deliveries permanently\nAdd --yes'],
    [['discard'], 'give either ids, --dead or --unhandled'],
    [['purge'], "required option '--state <name>' not specified"],
    [['purge', '--state', 'waiting'], '--state <name>: Allowed choices are done'],
    [['purge', '--state', 'done', '--older-than', '7'], '--older-than <time>: must be a duration like 90s'],
    [['export'], 'give either ids, --dead or --unhandled'],
    [['export', '--dead'], 'only one capture can be printed'],
    [['export', '--dead', '--out', join(path, 'x')], 'cannot save in'],
    [['stats', '--storegeheim'], 'unknown option\n'],
    [['stats', `--stroe=postgres://u:${PASSWORD}@h`], 'unknown option --stroe\n'],
    [['stats', '--store-env', 'X', '--store-file', 'x'], 'cannot be mixed\nUse one of them.\n'],
    [['lst'], 'unknown command\nDid you mean list?'],
  ])('%j', async (args, message) => {
    const result = await geohook(['inbox', ...args], { env: { GEOHOOK_INBOX: path } })
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(result.stderr).toContain(message)
    expect(result.stderr).not.toContain(PASSWORD)
    expect(result.stderr).not.toContain('geheim')
  })
})
