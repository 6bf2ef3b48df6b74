import { execFile } from 'node:child_process'

/**
 * Runs a program and resolves with its stdout, or with stdout and stderr if `both` is true. If the program fails,
 * rejects with its stdout and stderr.
 */
export function run(command, args, { cwd = '.', env = {}, both = false, timeout = 120_000 } = {}) {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024, timeout }
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      if (!error) return resolve(both ? { stdout, stderr } : stdout)
      const end = error.killed ? `timed out after ${timeout / 1000} s` : `exited with ${error.code}`
      reject(new Error(`${[command, ...args].join(' ')} ${end}\n${stdout}${stderr}`.trim()))
    })
    child.stdin?.end()
  })
}
