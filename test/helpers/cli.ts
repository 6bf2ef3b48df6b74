import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, vi } from 'vitest'
import { type Started, startNode } from './process.ts'

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
  cwd?: string
}

export interface RunResult {
  code: number | null
  stdout: string
  stderr: string
}

/** Starts `geohook`. The caller must stop it. */
export const startGeohook = (args: readonly string[], { env, stdin, cwd }: RunOptions = {}): Started =>
  startNode([CLI, ...args], { ...CLEAN_ENV, ...env }, { stdin, cwd })

export type Run = (args: readonly string[], options?: RunOptions) => Promise<RunResult>

/** Removes progress reports. Any command that takes over a second prints them, for example on a busy machine. */
export const withoutProgress = (stderr: string): string => stderr.replace(/^.* \(\d+ s\)\n/gm, '')

/** Runs `geohook` in its own process. */
export const geohook: Run = async (args, options) => {
  const started = startGeohook(args, options)
  const code = await started.exited
  return { code, stdout: started.stdout, stderr: withoutProgress(started.stderr) }
}

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
  use: (url: string, listener: Started) => Promise<void>,
  options: RunOptions = {},
): Promise<{ code: number | null; listener: Started }> {
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
  mock: Started
  geohook(...args: string[]): Promise<RunResult>
}

/** Starts `geohook mock` on a free port, passes it to a test, and stops it. `run` runs the test's other commands. */
export async function withMock(
  args: readonly string[],
  use: (mock: Mock) => Promise<void>,
  run: Run = geohook,
): Promise<Started> {
  const mock = startGeohook(['mock', '--port', '0', ...args])
  try {
    const [, url = ''] = await mock.printed(/(http:\/\/[\d.:]+)/)
    const env = { GEOHOOK_URL: url }
    await use({ url, mock, geohook: (...more: string[]) => run(more, { env }) })
  } finally {
    await mock.stop()
  }
  return mock
}
