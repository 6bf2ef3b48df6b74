import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, vi } from 'vitest'
import { createTranscript, type Printed, type Started, startNode } from './process.ts'

/** Path of the built command line. */
export const CLI = new URL('../../dist/cli.js', import.meta.url).pathname

/** Unsets variables that the developer's environment may contain. */
export const CLEAN_ENV = {
  SIGNATURE_KEY: undefined,
  GEOHOOK_URL: undefined,
  GEOHOOK_TOKEN: undefined,
  GEOHOOK_INBOX: undefined,
  GEOHOOK_INSPECTOR_TOKEN: undefined,
  FORCE_COLOR: undefined,
  NO_COLOR: undefined,
}

export interface RunOptions {
  env?: Record<string, string>
  stdin?: string | Uint8Array
  /** Factor for intervals and time limits. */
  pace?: number
  /** Runs in a terminal of this width. */
  columns?: number | undefined
}

export interface RunResult {
  code: number | null
  stdout: string
  stderr: string
}

/** The built command line, so that no test transforms its sources. */
const { createProgram, Io, runCli }: typeof import('../../src/cli/run.ts') = await import(
  new URL('../../dist/cli-run.js', import.meta.url).href
)

const NOWHERE = { stdout: { write() {} }, stderr: { write() {} } }

/** A command line that runs in this process. */
export interface Running extends Printed {
  /** Resolves with the exit code. */
  readonly exited: Promise<number>
  /** Stops a server, as Ctrl-C does. */
  stop(): Promise<number>
}

/** Runs `geohook` in this process. */
export function startGeohook(
  args: readonly string[],
  { env, stdin = '', pace = 1, columns }: RunOptions = {},
): Running {
  const transcript = createTranscript()
  const stopping = new AbortController()
  const terminal = columns === undefined ? {} : { isTTY: true, columns }
  const exited = runCli(args, {
    stdin: Object.assign(Readable.from([Buffer.from(stdin)]), terminal),
    stdout: { ...terminal, write: (text) => transcript.add('stdout', text) },
    stderr: { ...terminal, write: (text) => transcript.add('stderr', text) },
    env: { PATH: process.env.PATH, ...env },
    signal: stopping.signal,
    pace,
  }).finally(transcript.end)
  return Object.assign(transcript, {
    exited,
    async stop() {
      stopping.abort()
      return exited
    },
  })
}

/** Starts `geohook` in its own process. */
export const startProcess = (
  args: readonly string[],
  { env, stdin, cwd }: Pick<RunOptions, 'env' | 'stdin'> & { cwd?: string } = {},
): Started => startNode([CLI, ...args], { ...CLEAN_ENV, ...env }, { stdin, cwd })

/** Removes progress reports. Any command that takes over a second prints them, for example on a busy machine. */
export const withoutProgress = (stderr: string): string => stderr.replace(/^.* \(\d+ s\)\n/gm, '')

/** Runs `geohook` in this process until it ends. */
export async function geohook(args: readonly string[], options?: RunOptions): Promise<RunResult> {
  const running = startGeohook(args, options)
  const code = await running.exited
  return { code, stdout: running.stdout, stderr: withoutProgress(running.stderr) }
}

/** Creates the program with all commands, to look at them. It prints nothing. */
export const newProgram = (): ReturnType<typeof createProgram> => createProgram(newIo())

/** Creates an object that modules of the command line need. It prints nothing. */
export const newIo = (): InstanceType<typeof Io> =>
  new Io({ ...NOWHERE, stdin: Readable.from([]), env: {}, signal: AbortSignal.abort() })

/** Parses the result of a command with `--json`. */
export const parseStdout = ({ stdout }: Pick<RunResult, 'stdout'>) => JSON.parse(stdout)

/** Parses the events of `listen` or `mock` with `--json`. */
export const parseEvents = ({ stdout }: Pick<RunResult, 'stdout'>): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

/** Creates a folder for one test file, and removes it at the end. */
export function createFolder(): { path: string; file(name: string, content: string | Uint8Array): string } {
  const path = mkdtempSync(join(tmpdir(), 'geohook-cli-'))
  afterAll(() => rmSync(path, { recursive: true, force: true }))
  return {
    path,
    file(name, content) {
      writeFileSync(join(path, name), content)
      return join(path, name)
    },
  }
}

/** Resolves when the process list shows `title` instead of the process's command line. */
export async function untilProcessTitle(pid: number | undefined, title: string): Promise<void> {
  const hasTitle = (): boolean =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', '').trim() === title
  await vi.waitUntil(hasTitle, { timeout: 60_000, interval: 1 })
}

/** Starts `geohook listen` on a free port, passes its URL to a test, and stops it. */
export async function withListener(
  args: readonly string[],
  use: (url: string, listener: Running) => Promise<void>,
  options: RunOptions = {},
): Promise<{ code: number; listener: Running }> {
  const listener = startGeohook(['listen', '--port', '0', ...args], options)
  try {
    const [, url = ''] = await listener.printed(/(http:\/\/[^\s"]+)/)
    await use(url, listener)
  } finally {
    await listener.stop()
  }
  return { code: await listener.exited, listener }
}

/** A running mock service, and a function that runs `geohook` with the service's address. */
export interface Mock {
  url: string
  mock: Running
  geohook(...args: string[]): Promise<RunResult>
}

/** Starts `geohook mock` on a free port, passes it to a test, and stops it. */
export async function withMock(
  args: readonly string[],
  use: (mock: Mock) => Promise<void>,
  options?: RunOptions,
): Promise<Running> {
  const mock = startGeohook(['mock', '--port', '0', ...args], options)
  try {
    const [, url = ''] = await mock.printed(/(http:\/\/[\d.:]+)/)
    const env = { GEOHOOK_URL: url }
    await use({ url, mock, geohook: (...more: string[]) => geohook(more, { env }) })
  } finally {
    await mock.stop()
  }
  return mock
}
