import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { type Started, startNode } from './process.ts'

/** The built command line. */
export const CLI = new URL('../../dist/cli.js', import.meta.url).pathname

/** What a developer's own environment must not change. */
export const CLEAN = {
  SIGNATURE_KEY: undefined,
  GEOHOOK_URL: undefined,
  GEOHOOK_TOKEN: undefined,
  GEOHOOK_INBOX: undefined,
  FORCE_COLOR: undefined,
  NO_COLOR: undefined,
}

export interface RunOptions {
  env?: Record<string, string>
  stdin?: string | Uint8Array
  cwd?: string
}

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

/** Starts `geohook`. Whoever starts it stops it. */
export const startGeohook = (args: readonly string[], { env, stdin, cwd }: RunOptions = {}): Started =>
  startNode([CLI, ...args], { ...CLEAN, ...env }, { stdin, cwd })

export type Run = (args: readonly string[], options?: RunOptions) => Promise<Ran>

/** On a busy machine every command may take longer than a second, and reports its progress then. */
export const withoutProgress = (stderr: string): string => stderr.replace(/^.* \(\d+ s\)\n/gm, '')

/** Runs `geohook` to its end, in a process of its own. */
export const geohook: Run = async (args, options) => {
  const started = startGeohook(args, options)
  const code = await started.exited
  return { code, stdout: started.stdout, stderr: withoutProgress(started.stderr) }
}

/** A folder for the files of one test file, which is removed at its end. */
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

/** Starts `geohook listen` on a free port, runs a test with its address, and stops it. */
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

/** A running mock service, and the command line with its address. */
export interface Mock {
  url: string
  mock: Started
  geohook(...args: string[]): Promise<Ran>
}

/** Starts `geohook mock` on a free port, runs a test with it, and stops it. `run` runs the other commands. */
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
