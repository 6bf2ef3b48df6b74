import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { findPort } from './port.ts'
import { POSTGRES } from './servers.ts'

/** A server of PostgreSQL that belongs to one test: it may be stopped, and made to hang. */
export interface PrivatePostgres {
  url: string
  start(): Promise<void>
  /** At once, as at a crash: connections break off, and the next start recovers. */
  crash(): Promise<void>
  /** SIGKILL for all its processes at the same time. */
  kill(): Promise<void>
  /** Nothing answers any more, and no connection breaks off. */
  hang(): void
  goOn(): void
  remove(): Promise<void>
}

/** Where the programs of the server are; nothing where there are none. */
export function findPostgres(): string | undefined {
  const packaged = '/usr/lib/postgresql'
  const versions = existsSync(packaged) ? readdirSync(packaged).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.map((version) => join(packaged, version, 'bin')),
  ]
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

/** A user of this machine, for `spawn`. */
function userOf(name: string): { uid: number; gid: number } {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
  if (uid === undefined) throw new Error(`there is no user ${name}, and PostgreSQL does not run as root`)
  return { uid: Number(uid), gid: Number(gid) }
}

/** Makes a server in a temporary folder. It is not started. */
export async function createPrivatePostgres(programs: string): Promise<PrivatePostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-postgres-'))
  // PostgreSQL refuses to run as root.
  const user = process.getuid?.() === 0 ? userOf('postgres') : undefined
  if (user) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  execFileSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '--locale=C', '-E', 'UTF8'],
    { stdio: 'pipe', cwd: folder, ...user },
  )
  const port = await findPort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let server: ChildProcess | undefined
  let log = ''

  /** The server and its children: each connection has one. */
  function signalAll(signal: NodeJS.Signals): number[] {
    const pid = server?.pid ?? 0
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    const all = [pid, ...children.map(Number)]
    for (const one of all) process.kill(one, signal)
    return all
  }

  const isEnded = (): boolean => !server || server.exitCode !== null || server.signalCode !== null

  /** A process that only waits for its parent to ask how it ended has let go of everything. */
  function isGone(pid: number): boolean {
    try {
      return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    } catch {
      return true
    }
  }

  async function crash(): Promise<void> {
    if (!server || isEnded()) return
    server.kill('SIGQUIT')
    await once(server, 'exit')
  }

  return {
    url,
    async start() {
      const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', '']
      const stdio: StdioOptions = ['ignore', 'ignore', 'pipe']
      server = spawn(join(programs, 'postgres'), args, { stdio, cwd: folder, ...user })
      server.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log += text
      })
      for (;;) {
        if (isEnded()) throw new Error(`PostgreSQL ended:\n${log}`)
        if (
          await POSTGRES.reach(url).then(
            () => true,
            () => false,
          )
        )
          return
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    crash,
    async kill() {
      if (!server || isEnded()) return
      const exited = once(server, 'exit')
      const pids = signalAll('SIGKILL')
      await exited
      // The next server does not start while one of them has the shared memory.
      while (!pids.every(isGone)) await new Promise((resolve) => setTimeout(resolve, 10))
    },
    hang: () => signalAll('SIGSTOP'),
    goOn: () => signalAll('SIGCONT'),
    async remove() {
      await crash()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
