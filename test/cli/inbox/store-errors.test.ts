import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFolder, geohook } from '../../helpers/cli.ts'
import { startRawServer } from '../../helpers/cli-servers.ts'
import { startNode } from '../../helpers/process.ts'
import { unusedUrl } from '../../helpers/target.ts'

/** A password that occurs in no other text, so that tests can search for it. In URLs, it is percent-encoded. */
const PASSWORD = 'Geheimnis/0123456789'
const ENCODED = encodeURIComponent(PASSWORD)

const STACK_TRACE = /^\s+at /m

/** Encodes a PostgreSQL ErrorResponse message (PostgreSQL documentation, section 55.7). */
function postgresError(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C28P01\0M${message}\0\0`)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(fields.length + 4)
  return Buffer.concat([Buffer.from('E'), length, fields])
}

const toUrl = (host: string): string => `postgres://geohook:${ENCODED}@${host}/inbox`

describe.concurrent('geohook inbox with PostgreSQL', () => {
  it('reports an unreachable server without its password', async () => {
    const { host } = new URL(await unusedUrl())
    for (const args of [['stats'], ['list'], ['retry', '--dead']]) {
      for (const json of [[], ['--json']]) {
        const env = { GEOHOOK_INBOX: toUrl(host) }
        const { code, stdout, stderr } = await geohook(['inbox', ...args, ...json], { env })
        expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
        expect(stderr).toContain(`cannot reach PostgreSQL at ${host}: `)
        expect(stderr).not.toMatch(STACK_TRACE)
        expectNoPassword(stderr)
      }
    }
  })

  it('stops waiting for a server that does not respond', async () => {
    const server = await startRawServer()
    const stats = ['inbox', 'stats', '--store', toUrl(server.host)]
    const { code, stdout, stderr } = await geohook(stats, { pace: 0.02 })
    await server.close()
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain(`cannot reach PostgreSQL at ${server.host}: `)
    expectNoPassword(stderr)
  })

  it('redacts the password if the server quotes it', async () => {
    for (const text of [PASSWORD, ENCODED]) {
      const server = await startRawServer(postgresError(`wrong password ${text}`))
      for (const json of [[], ['--json']]) {
        const result = await geohook(['inbox', 'stats', '--store', toUrl(server.host), ...json])
        expect(result.code).not.toBe(0)
        expect(result.stderr).not.toBe('')
        expectNoPassword(result.stdout + result.stderr)
      }
      await server.close()
    }
  })
})

function expectNoPassword(output: string): void {
  expect(output).not.toContain(PASSWORD)
  expect(output).not.toContain(ENCODED)
}

describe('geohook inbox if the packages of an engine are not installed', { tags: ['sqlite'] }, () => {
  const folder = createFolder()
  const path = join(folder.path, 'inbox.db')
  const modules = join(folder.path, 'node_modules')
  const cli = join(modules, 'geohook/dist/cli.js')
  let inbox: DurableInbox
  afterAll(() => inbox.close())
  beforeAll(async () => {
    inbox = createSqliteInbox({ path })
    await inbox.stats() // creates the file
    const root = new URL('../../../', import.meta.url).pathname
    mkdirSync(join(modules, 'geohook'), { recursive: true })
    cpSync(join(root, 'dist'), join(modules, 'geohook/dist'), { recursive: true })
    cpSync(join(root, 'package.json'), join(modules, 'geohook/package.json'))
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const name of Object.keys(dependencies)) {
      mkdirSync(dirname(join(modules, name)), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), join(modules, name))
    }
  })

  it('prints what to install for PostgreSQL', async () => {
    const started = startNode([cli, 'inbox', 'stats', '--store', 'postgres://h/db'])
    expect(await started.exited).toBe(2)
    expect(started.stderr).toContain('npm install pg')
  })

  it('opens a SQLite file with node:sqlite if available, otherwise prints what to install', async () => {
    const started = startNode([cli, 'inbox', 'stats', '--store', path])
    const hasSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined
    expect(await started.exited).toBe(hasSqlite ? 0 : 2)
    expect(started.stderr).toMatch(hasSqlite ? /^$/ : /npm install better-sqlite3/)
  })
})
