import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Redis } from 'ioredis'
import { findPort } from './port.ts'
import { type Started, startProgram } from './process.ts'
import { REDIS } from './servers.ts'

/** Finds `redis-server` in PATH. */
export const findRedis = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'redis-server'))
    .find((file) => existsSync(file))

/** A private Redis server that a test can kill. It listens on loopback, and syncs every write to disk. */
export interface PrivateRedis {
  readonly url: string
  /** Starts the server, and resolves when it accepts commands. `settings` are directives of `redis.conf`. */
  start(settings?: Record<string, string>): Promise<void>
  /** Simulates a crash with SIGKILL. */
  crash(): Promise<void>
  /** Suspends the server: it does not respond, but keeps its connections. */
  hang(): void
  /** Resumes a suspended server. */
  resume(): void
  /** Runs one command with full permissions. */
  command(name: string, ...args: string[]): Promise<unknown>
  remove(): Promise<void>
}

export async function createPrivateRedis(
  program: string,
  password = 's3cret-of-redis',
): Promise<PrivateRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-redis-'))
  const port = await findPort()
  const url = `redis://:${password}@127.0.0.1:${port}`
  let server: Started | undefined

  async function command(name: string, ...args: string[]): Promise<unknown> {
    const client = new Redis(url)
    client.on('error', () => {})
    try {
      return await client.call(name, ...args)
    } finally {
      client.disconnect()
    }
  }

  return {
    url,
    command,
    async start(settings = {}) {
      const own = { bind: '127.0.0.1', port, dir: folder, requirepass: password, save: '' }
      const options = Object.entries({ ...own, appendonly: 'yes', appendfsync: 'always', ...settings })
      const started = startProgram(
        program,
        options.flatMap(([name, value]) => [`--${name}`, `${value}`]),
      )
      server = started
      for (;;) {
        if (started.child.exitCode !== null || started.child.signalCode !== null)
          throw new Error(`redis-server ended:\n${started.output}`)
        const isReachable = await REDIS.reach(url).then(
          () => true,
          () => false,
        )
        if (isReachable) return
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    async crash() {
      await server?.stop('SIGKILL')
    },
    hang() {
      server?.child.kill('SIGSTOP')
    },
    resume() {
      server?.child.kill('SIGCONT')
    },
    async remove() {
      await server?.stop('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
