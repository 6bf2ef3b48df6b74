import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFolder, geohook, startGeohook } from '../helpers/cli.ts'
import { fill, payloads } from '../helpers/dead-letters.ts'
import { startNode } from '../helpers/process.ts'
import { unusedUrl } from '../helpers/target.ts'

/** Nothing else looks like it. In a URL it is percent-encoded. */
const PASSWORD = 'Geheimnis/0123456789'
const ENCODED = encodeURIComponent(PASSWORD)
const folder = createFolder()
const path = join(folder.path, 'inbox.db')
const inbox = createSqliteInbox({ path })
const missing = join(folder.path, 'missing.db')

beforeAll(() => fill(inbox, payloads(1)))
afterAll(() => inbox.close())

const stats = (...args: string[]) => geohook(['inbox', 'stats', ...args])

describe.concurrent('an inbox is where', () => {
  it.each<[string, string[], Record<string, string>]>([
    ['--store', ['--store', path], {}],
    ['--store sqlite:', ['--store', `sqlite:${path}`], {}],
    ['--store-env', ['--store-env', 'MY_INBOX'], { MY_INBOX: path }],
    ['--store-file', ['--store-file', folder.file('store.txt', `${path}\n`)], {}],
    ['GEOHOOK_INBOX', [], { GEOHOOK_INBOX: path }],
    ['an option, whatever GEOHOOK_INBOX', ['--store', path], { GEOHOOK_INBOX: missing }],
  ])('%s says', async (_, args, env) => {
    const { code, stdout } = await geohook(['inbox', 'stats', '--json', ...args], { env })
    expect(code).toBe(0)
    expect(JSON.parse(stdout).waiting).toBe(1)
  })
})

describe.concurrent('what is no inbox is not opened, made or changed', () => {
  const text = folder.file('text.db', 'not a database, and not to become one')
  const empty = folder.file('empty.db', '')
  const foreign = join(folder.path, 'foreign.db')
  const other = new Sqlite(foreign)
  other.exec('CREATE TABLE parcel (id)')
  other.close()

  it.each<[string, string[], string]>([
    ['nothing', [], 'there is no inbox'],
    ['a path where nothing is', ['--store', missing], 'in --store: there is no such file'],
    ['a path in a folder that is missing', ['--store', join(missing, 'x')], 'there is no such file'],
    ['a folder', ['--store', folder.path], 'it is a folder'],
    ['another file', ['--store', text], 'the file is not of SQLite'],
    ['an empty file', ['--store', empty], 'the file is not of SQLite'],
    ['another database', ['--store', foreign], 'is a database, but no inbox'],
    ['an unknown scheme', ['--store', `mysql://u:${PASSWORD}@h/db`], 'of no kind that is known'],
    ['an unescaped password', ['--store', `postgres://u:${PASSWORD}@h/db`], 'is not a URL'],
    ['two sources', ['--store', path, '--store-env', 'X'], 'cannot be mixed'],
    ['two stores', ['--store', path, '--store', path], 'only one store is of use'],
    ['an empty store', ['--store', ''], 'the store in --store is empty'],
    ['a file of it that is missing', ['--store-file', missing], 'cannot read the file of --store-file'],
    ['--schema of SQLite', ['--store', path, '--schema', 'x'], '--schema is not for this kind of store'],
    ['--queue of SQLite', ['--store', path, '--queue', 'x'], '--queue is not for this kind of store'],
    ['--prefix of PostgreSQL', ['--store', 'postgres://h/db', '--prefix', 'x'], '--prefix is not for this'],
    ['--schema of Redis', ['--store', 'redis://h', '--schema', 'x'], '--schema is not for this'],
    ['a schema that is none', ['--store', 'postgres://h/db', '--schema', 'a b'], 'schema must be'],
    ['an empty queue', ['--store', 'redis://h', '--queue', ''], '--queue is empty'],
  ])('%s', async (_, args, said) => {
    const ran = await stats(...args)
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain(said)
    expect(ran.stderr).not.toContain(PASSWORD)
    const asJson = await stats(...args, '--json')
    expect(asJson).toMatchObject({ code: 2, stdout: '' })
    expect(JSON.parse(asJson.stderr).error.message).toContain(said)
  })

  it('and all is as it was', () => {
    expect(existsSync(missing)).toBe(false)
    expect(readFileSync(text, 'utf8')).toBe('not a database, and not to become one')
    expect(readFileSync(empty, 'utf8')).toBe('')
    const names = new Sqlite(foreign, { readonly: true }).prepare('SELECT name FROM sqlite_schema').all()
    expect(names).toEqual([{ name: 'parcel' }])
  })
})

describe.concurrent('wrong usage of geohook inbox', () => {
  const id = '0'.repeat(32)
  it.each<[string[], string]>([
    [['list', '--state', 'lost'], '--state <name>: Allowed choices are waiting'],
    [['list', '--limit', '0'], '--limit <n>: give a whole number from 1 to 1000'],
    [['list', '--after', 'x'], 'after must be'],
    [['show'], "missing required argument 'id'"],
    [['show', PASSWORD], 'id: give 32 hex digits'],
    [['retry'], 'give either ids or --dead'],
    [['retry', id, '--dead'], 'give either ids or --dead'],
    [['retry', PASSWORD], 'ids: give 32 hex digits'],
    [['discard', '--dead'], '--dead discards all dead letters, for good\nAdd --yes'],
    [['discard'], 'give either ids or --dead'],
    [['purge'], "required option '--state <name>' not specified"],
    [['purge', '--state', 'waiting'], '--state <name>: Allowed choices are done'],
    [['purge', '--state', 'done', '--older-than', '7'], '--older-than <time>: give a time like 90s'],
    [['export'], 'give either ids or --dead'],
    [['export', '--dead'], 'only one capture can be printed'],
    [['export', '--dead', '--out', join(path, 'x')], 'cannot save in'],
    [['stats', '--storegeheim'], 'unknown option\n'],
    [['stats', `--stroe=postgres://u:${PASSWORD}@h`], 'unknown option --stroe\n'],
    [['lst'], 'unknown command\nDid you mean list?'],
  ])('%j', async (args, said) => {
    const ran = await geohook(['inbox', ...args], { env: { GEOHOOK_INBOX: path } })
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain(said)
    expect(ran.stderr).not.toContain(PASSWORD)
    expect(ran.stderr).not.toContain('geheim')
  })
})

/** A server that says nothing, or the same to everyone. */
async function startSilent(answer?: Buffer): Promise<{ host: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('data', () => answer && socket.end(answer))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}

/** An ErrorResponse of PostgreSQL (its documentation, section 55.7). */
function postgresError(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C28P01\0M${message}\0\0`)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(fields.length + 4)
  return Buffer.concat([Buffer.from('E'), length, fields])
}

const SERVERS: [string, (host: string) => string, (message: string) => Buffer][] = [
  ['PostgreSQL', (host) => `postgres://geohook:${ENCODED}@${host}/inbox`, postgresError],
  ['Redis', (host) => `redis://geohook:${ENCODED}@${host}`, (message) => Buffer.from(`-ERR ${message}\r\n`)],
]

describe.concurrent.each(SERVERS)('a server of %s', (name, toUrl, toError) => {
  it('that is not there is not reached, and its password not told', async () => {
    const { host } = new URL(await unusedUrl())
    for (const args of [['stats'], ['list', '--json'], ['retry', '--dead']]) {
      const ran = await geohook(['inbox', ...args], { env: { GEOHOOK_INBOX: toUrl(host) } })
      expect(ran).toMatchObject({ code: 3, stdout: '' })
      expect(ran.stderr).toContain(`cannot reach ${name} at ${host}: `)
      expect(ran.stderr.trimEnd().split('\n').length).toBeLessThan(3)
      expectSecret(ran.stdout + ran.stderr)
    }
  })

  it('that says nothing is given up, and its password is not in the list of processes', async () => {
    const server = await startSilent()
    const started = startGeohook(['inbox', 'stats', '--store', toUrl(server.host)])
    await untilRenamed(started.child.pid)
    expect(await started.exited).toBe(3)
    await server.close()
    expect(started.stderr).toContain(`cannot reach ${name} at ${server.host}: `)
    expectSecret(started.output)
  })

  it('that quotes the password does not make it seen', async () => {
    for (const text of [PASSWORD, ENCODED]) {
      const server = await startSilent(toError(`wrong password ${text}`))
      for (const json of [[], ['--json']]) {
        const ran = await stats('--store', toUrl(server.host), ...json)
        expect(ran.code).not.toBe(0)
        expect(ran.stderr).not.toBe('')
        expectSecret(ran.stdout + ran.stderr)
      }
      await server.close()
    }
  })
})

function expectSecret(output: string): void {
  expect(output).not.toContain(PASSWORD)
  expect(output).not.toContain(ENCODED)
}

/** Looks again and again, because nothing tells when a process renames itself. */
async function untilRenamed(pid: number | undefined): Promise<void> {
  for (;;) {
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    if (commandLine.replaceAll('\0', '').trim() === 'geohook inbox') return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('where the packages of a store are not installed', () => {
  const modules = join(folder.path, 'node_modules')
  const cli = join(modules, 'geohook/dist/cli.js')
  beforeAll(() => {
    const root = new URL('../../', import.meta.url).pathname
    mkdirSync(join(modules, 'geohook'), { recursive: true })
    cpSync(join(root, 'dist'), join(modules, 'geohook/dist'), { recursive: true })
    cpSync(join(root, 'package.json'), join(modules, 'geohook/package.json'))
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const name of Object.keys(dependencies))
      symlinkSync(join(root, 'node_modules', name), join(modules, name))
  })

  it.each([
    ['postgres://h/db', 'npm install pg-boss'],
    ['redis://h', 'npm install bullmq ioredis'],
  ])('%s: says what to install', async (store, hint) => {
    const started = startNode([cli, 'inbox', 'stats', '--store', store])
    expect(await started.exited).toBe(2)
    expect(started.stderr).toContain(hint)
  })

  it('a SQLite file can be opened by newer Nodes; older ones say what to install', async () => {
    const started = startNode([cli, 'inbox', 'stats', '--store', path])
    const hasSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined
    expect(await started.exited).toBe(hasSqlite ? 0 : 2)
    expect(started.stderr).toMatch(hasSqlite ? /^$/ : /npm install better-sqlite3/)
  })
})
