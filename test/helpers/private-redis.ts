import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Redis } from 'ioredis'
import { findPort } from './port.ts'
import { type Started, startProgram } from './process.ts'
import { REDIS } from './servers.ts'

/** The program, where PATH has it. */
export const findRedis = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'redis-server'))
    .find((file) => existsSync(file))

/** A server of a test's own, that it may kill. It listens on loopback, and writes every command to its disk. */
export interface PrivateRedis {
  readonly url: string
  /** Resolves when it takes commands. Settings of redis.conf replace those it has otherwise. */
  start(settings?: Record<string, string>): Promise<void>
  /** Ends it as a crash does. */
  crash(): Promise<void>
  /** It keeps its connections, but says nothing any more. */
  hang(): void
  goOn(): void
  /** Runs one command as its administrator. */
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
        const isThere = await REDIS.reach(url).then(
          () => true,
          () => false,
        )
        if (isThere) return
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    async crash() {
      await server?.stop('SIGKILL')
    },
    hang() {
      server?.child.kill('SIGSTOP')
    },
    goOn() {
      server?.child.kill('SIGCONT')
    },
    async remove() {
      await server?.stop('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
