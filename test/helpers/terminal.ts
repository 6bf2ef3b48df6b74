import { type Started, startProgram } from './process.ts'
import { hasProgram } from './programs.ts'

/** True if a test can open a pseudo-terminal. It needs Python for that. */
export const hasTerminal: boolean = hasProgram('python3')

const SPAWN = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'

/** Starts Node in a terminal. Its stdout and stderr both arrive in `stdout`. */
export function startInTerminal(args: readonly string[], env: Record<string, string> = {}): Started {
  const unset = { NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined }
  return startProgram('python3', ['-c', SPAWN, process.execPath, ...args], {
    ...unset,
    TERM: 'xterm',
    ...env,
  })
}
