import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'

/** What a program or a command line prints. */
export interface Printed {
  /** stdout and stderr combined, in order of arrival. */
  readonly output: string
  readonly stdout: string
  readonly stderr: string
  /** Resolves with the match once the output matches `pattern`. Rejects if the program exits first. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
}

/** A program that a test has started. */
export interface Started extends Printed {
  readonly child: ChildProcess
  /** Resolves when the program has ended and all output is read. The value is the exit code, or null after a signal. */
  readonly exited: Promise<number | null>
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** Records what is printed until `end` is called. */
export function createTranscript(): Printed & {
  add(stream: 'stdout' | 'stderr', text: string): void
  end(): void
} {
  const changes = new EventEmitter()
  const texts = { output: '', stdout: '', stderr: '' }
  let hasEnded = false
  return {
    add(stream, text) {
      texts.output += text
      texts[stream] += text
      changes.emit('change')
    },
    end() {
      hasEnded = true
      changes.emit('change')
    },
    get output() {
      return texts.output
    },
    get stdout() {
      return texts.stdout
    },
    get stderr() {
      return texts.stderr
    },
    async printed(pattern) {
      for (;;) {
        const match = pattern.exec(texts.output)
        if (match) return match
        if (hasEnded) throw new Error(`the program exited without printing ${pattern}:\n${texts.output}`)
        await once(changes, 'change')
      }
    },
  }
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
  const transcript = createTranscript()
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => transcript.add(name, text))
  const exited = once(child, 'close').then(([code]) => {
    transcript.end()
    return code as number | null
  })
  return Object.assign(transcript, {
    child,
    exited,
    async stop(signal: NodeJS.Signals = 'SIGTERM') {
      child.kill(signal)
      return exited
    },
  })
}
