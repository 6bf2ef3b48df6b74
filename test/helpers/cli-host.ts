import { type ChildProcess, fork, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { afterAll } from 'vitest'
import { CLEAN_ENV, geohook, type Mock, type Run, type RunResult, withMock, withoutProgress } from './cli.ts'
import type { Started } from './process.ts'

const HOST = new URL('cli-host.mjs', import.meta.url)

interface CommandLine {
  geohook: Run
  withMock(args: readonly string[], use: (mock: Mock) => Promise<void>): Promise<Started>
}

interface HostMessage extends RunResult {
  id: number
}

/**
 * Runs all `geohook` commands of a test file in the same child process, because starting a process takes longer than
 * most tests. Commands with `stdin` or `cwd` get their own process.
 */
export function useGeohook(): CommandLine {
  let starting: Promise<ChildProcess> | undefined
  let count = 0
  const pending = new Map<number, { resolve(result: RunResult): void; reject(reason: Error): void }>()

  async function start(): Promise<ChildProcess> {
    const stdio: StdioOptions = ['ignore', 'ignore', 'pipe', 'ipc']
    const host = fork(HOST, { env: { ...process.env, ...CLEAN_ENV }, execArgv: [], stdio })
    let errors = ''
    host.stderr?.on('data', (data) => {
      errors += data
    })
    host.on('message', ({ id, ...result }: HostMessage) => {
      pending.get(id)?.resolve({ ...result, stderr: withoutProgress(result.stderr) })
      pending.delete(id)
    })
    host.on('close', () => {
      for (const { reject } of pending.values()) reject(new Error(`the command line ended:\n${errors}`))
      pending.clear()
    })
    await Promise.race([once(host, 'message'), once(host, 'close')])
    return host
  }

  afterAll(async () => {
    const host = await starting
    if (!host?.connected) return
    host.disconnect()
    await once(host, 'exit')
  })

  const run: Run = async (args, options = {}) => {
    if (options.stdin !== undefined || options.cwd !== undefined) return geohook(args, options)
    starting ??= start()
    const host = await starting
    const id = count++
    return new Promise((resolve, reject) => {
      pending.set(id, { resolve, reject })
      host.send({ id, args, env: options.env }, (error) => {
        if (error) reject(error)
      })
    })
  }
  return { geohook: run, withMock: (args, use) => withMock(args, use, run) }
}
