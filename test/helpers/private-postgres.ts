import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
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

/** Makes a server in a temporary folder. It is not started. */
export async function createPrivatePostgres(programs: string): Promise<PrivatePostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-postgres-'))
  // PostgreSQL refuses to run as root.
  const isRoot = process.getuid?.() === 0
  const asUser = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []
  if (isRoot) {
    const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'])))
    chownSync(folder, uid ?? 0, gid ?? 0)
  }
  const commandOf = (program: string, ...args: string[]) => {
    const [first = '', ...others] = [...asUser, join(programs, program), ...args]
    return [first, others] as const
  }
  const data = join(folder, 'data')
  execFileSync(
    ...commandOf(
      'initdb',
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '--no-sync',
      '--locale=C',
      '-E',
      'UTF8',
    ),
    { stdio: 'pipe', cwd: folder },
  )
  const port = await findPort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let server: ChildProcess | undefined
  let log = ''

  /** The server and its children: each connection has one. */
  function signalAll(signal: NodeJS.Signals): void {
    const pid = server?.pid ?? 0
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    for (const one of [pid, ...children.map(Number)]) process.kill(one, signal)
  }

  async function crash(): Promise<void> {
    if (!server || server.exitCode !== null) return
    server.kill('SIGQUIT')
    await once(server, 'exit')
  }

  return {
    url,
    async start() {
      const [program, args] = commandOf(
        'postgres',
        '-D',
        data,
        '-p',
        String(port),
        '-h',
        '127.0.0.1',
        '-k',
        '',
      )
      server = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder })
      server.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log += text
      })
      for (;;) {
        if (server.exitCode !== null) throw new Error(`PostgreSQL ended:\n${log}`)
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
    hang: () => signalAll('SIGSTOP'),
    goOn: () => signalAll('SIGCONT'),
    async remove() {
      await crash()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
