import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A program that a test has started. */
export interface Started {
  readonly output: string
  /** Resolves with the match, once the program has printed it. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  /** The exit code. */
  readonly exited: Promise<number | null>
  stop(): Promise<number | null>
}

/** Starts Node with these arguments. */
export function startNode(args: readonly string[], env: Record<string, string> = {}): Started {
  const child: ChildProcess = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  return {
    get output() {
      return output
    },
    async printed(pattern) {
      for (;;) {
        const match = pattern.exec(output)
        if (match) return match
        if (child.exitCode !== null) throw new Error(`it ended without printing ${pattern}:\n${output}`)
        await Promise.race([once(child.stdout ?? child, 'data'), exited])
      }
    },
    exited,
    async stop() {
      child.kill('SIGTERM')
      return exited
    },
  }
}
