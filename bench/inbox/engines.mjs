import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { DATABASE_URL = 'postgres://postgres@127.0.0.1:5432/postgres' } = process.env
/** Options of an inbox that can store all deliveries of a run. */
const LARGE = { maxPending: 1_000_000 }

const createFolder = () => mkdtemp(join(tmpdir(), 'geohook-bench-'))

/** @throws if redis-server is not installed */
async function startRedis() {
  const folder = await createFolder()
  const socket = createServer().listen(0, '127.0.0.1')
  await once(socket, 'listening')
  const port = String(socket.address().port)
  socket.close()
  await once(socket, 'close')
  const settings = {
    bind: '127.0.0.1',
    port,
    dir: folder,
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(server, 'close')
  let output = ''
  for await (const text of server.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += text
    if (output.includes('Ready to accept connections')) break
  }
  server.stdout.resume()
  process.once('exit', () => server.kill())
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      server.kill()
      await closed
      await rm(folder, { recursive: true })
    },
  }
}

/** For each engine, a function that creates a store, and returns its durability and how to open and remove it. */
export const ENGINES = {
  none: async () => ({ durability: 'no inbox' }),

  memory: async () => ({
    entry: 'inbox',
    factory: 'createMemoryInbox',
    options: LARGE,
    durability: 'in memory',
  }),

  async sqlite() {
    const folder = await createFolder()
    return {
      entry: 'sqlite',
      factory: 'createSqliteInbox',
      options: { ...LARGE, path: join(folder, 'inbox.db') },
      durability: 'synchronous=FULL',
      remove: () => rm(folder, { recursive: true }),
    }
  },

  async postgres() {
    const { default: pg } = await import('pg')
    const client = new pg.Client({ connectionString: DATABASE_URL, connectionTimeoutMillis: 3_000 })
    await client.connect()
    const show = async (name) => (await client.query(`show ${name}`)).rows[0][name]
    const schema = `geohook_bench_${randomUUID().replaceAll('-', '')}`
    return {
      entry: 'postgres',
      factory: 'createPostgresInbox',
      options: { ...LARGE, connectionString: DATABASE_URL, schema },
      durability: `synchronous_commit=${await show('synchronous_commit')} fsync=${await show('fsync')}`,
      async remove() {
        await client.query(`drop schema if exists ${schema} cascade`)
        await client.end()
      },
    }
  },

  /** Uses REDIS_URL, or starts a server that, like the other engines, writes to disk before it responds. */
  async redis() {
    const own = process.env.REDIS_URL ? undefined : await startRedis()
    const url = process.env.REDIS_URL ?? own.url
    const { Redis } = await import('ioredis')
    const client = new Redis(url, { lazyConnect: true, connectTimeout: 3_000, retryStrategy: () => null })
    client.on('error', () => {})
    await client.connect()
    const show = async (name) => (await client.config('GET', name).catch(() => []))[1] ?? 'unknown'
    const prefix = `geohook-bench-${randomUUID()}`
    return {
      entry: 'redis',
      factory: 'createRedisInbox',
      options: { ...LARGE, url, prefix },
      durability: `appendonly=${await show('appendonly')} appendfsync=${await show('appendfsync')}`,
      async remove() {
        for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1_000 })) {
          if (keys.length > 0) await client.unlink(...keys)
        }
        client.disconnect()
        await own?.stop()
      },
    }
  },
}
