import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A program that a test has started. */
export interface Started {
  /** stdout and stderr combined, in order of arrival. */
  readonly output: string
  readonly stdout: string
  readonly stderr: string
  readonly child: ChildProcess
  /** Resolves with the match once the output matches `pattern`. Rejects if the program exits first. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves when the program has ended and all output is read. The value is the exit code, or null after a signal. */
  readonly exited: Promise<number | null>
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

interface StartOptions {
  stdin?: string | Uint8Array | undefined
  cwd?: string | undefined
}

/** Starts Node with these arguments. */
export const startNode = (
  args: readonly string[],
  env?: Record<string, string | undefined>,
  options?: StartOptions,
): Started => startProgram(process.execPath, args, env, options)

/** Starts a program. `undefined` in `env` unsets an inherited variable. With `stdin: 'open'`, stdin stays open. */
export function startProgram(
  program: string,
  args: readonly string[],
  env: Record<string, string | undefined> = {},
  { stdin, cwd }: StartOptions = {},
): Started {
  const child: ChildProcess = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  })
  // Ignores errors, because the program may exit before it has read all of stdin.
  child.stdin?.on('error', () => {})
  if (stdin !== 'open') child.stdin?.end(stdin)
  let output = ''
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text
    stderr += text
  })
  let hasEnded = false
  const exited = once(child, 'close').then(([code]) => {
    hasEnded = true
    return code as number | null
  })
  return {
    child,
    get output() {
      return output
    },
    get stdout() {
      return stdout
    },
    get stderr() {
      return stderr
    },
    async printed(pattern) {
      for (;;) {
        const match = pattern.exec(output)
        if (match) return match
        if (hasEnded) throw new Error(`the program exited without printing ${pattern}:\n${output}`)
        await Promise.race([once(child.stdout ?? child, 'data'), once(child.stderr ?? child, 'data'), exited])
      }
    },
    exited,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      return exited
    },
  }
}
