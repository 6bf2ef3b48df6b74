import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFolder, startGeohook } from '../../helpers/cli.ts'
import { useGeohook } from '../../helpers/cli-host.ts'
import { startNode } from '../../helpers/process.ts'
import { unusedUrl } from '../../helpers/target.ts'

const { geohook } = useGeohook()

/** Nothing else looks like it. In a URL it is percent-encoded. */
const PASSWORD = 'Geheimnis/0123456789'
const ENCODED = encodeURIComponent(PASSWORD)

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
      // The error, and what to do about it.
      expect(ran.stderr.trimEnd().split('\n').slice(2)).toEqual([])
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
        const ran = await geohook(['inbox', 'stats', '--store', toUrl(server.host), ...json])
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

describe('where the packages of a store are not installed', { tags: ['sqlite'] }, () => {
  const folder = createFolder()
  const path = join(folder.path, 'inbox.db')
  const modules = join(folder.path, 'node_modules')
  const cli = join(modules, 'geohook/dist/cli.js')
  const inbox = createSqliteInbox({ path })
  afterAll(() => inbox.close())
  beforeAll(async () => {
    await inbox.stats() // makes the file
    const root = new URL('../../../', import.meta.url).pathname
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
