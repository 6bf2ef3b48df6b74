import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { findPort } from './port.ts'
import { POSTGRES } from './servers.ts'

/** A private PostgreSQL server that a test can crash or suspend. */
export interface PrivatePostgres {
  url: string
  start(): Promise<void>
  /** Simulates a crash: connections break, and the next start performs crash recovery. */
  crash(): Promise<void>
  /** Sends SIGKILL to the server and all its child processes. */
  kill(): Promise<void>
  /** Suspends the server: it does not respond, but keeps its connections. */
  hang(): void
  /** Resumes a suspended server. */
  resume(): void
  remove(): Promise<void>
}

/** Returns the folder with the programs `initdb` and `postgres`, if installed. */
export function findPostgres(): string | undefined {
  const packaged = '/usr/lib/postgresql'
  const versions = existsSync(packaged) ? readdirSync(packaged).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.map((version) => join(packaged, version, 'bin')),
  ]
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

/** Looks up the user and group id of a local user, for `spawn`. */
function userOf(name: string): { uid: number; gid: number } {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
  if (uid === undefined) throw new Error(`there is no user ${name}, and PostgreSQL does not run as root`)
  return { uid: Number(uid), gid: Number(gid) }
}

/** Creates a database cluster in a temporary folder, without starting the server. */
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

  /** Sends a signal to the server and all its child processes. Returns their ids. */
  function signalAll(signal: NodeJS.Signals): number[] {
    const pid = server?.pid ?? 0
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? []
    const all = [pid, ...children.map(Number)]
    for (const id of all) {
      try {
        process.kill(id, signal)
      } catch {} // a child may have exited since its id was read
    }
    return all
  }

  const isEnded = (): boolean => !server || server.exitCode !== null || server.signalCode !== null

  /** Returns true if a process has exited. Zombies count as exited, because they have released their resources. */
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
      if (server && !isEnded()) return
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
      // A new server cannot start while one of these processes holds the shared memory.
      while (!pids.every(isGone)) await new Promise((resolve) => setTimeout(resolve, 10))
    },
    hang: () => signalAll('SIGSTOP'),
    resume: () => signalAll('SIGCONT'),
    async remove() {
      await crash()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
