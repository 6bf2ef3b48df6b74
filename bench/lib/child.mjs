import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'

/** Whether processes can be kept on one core: `taskset` is part of Linux, and of nothing else. */
export const canPin = cpus().length > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0

/**
 * A Node process with a question and an answer at a time: what `ask` sends, its `process.on('message')` answers with one
 * `process.send`. It sends one message of its own when it is ready.
 *
 * @param {string} path the module
 * @param {{ core?: number, args?: readonly string[], execArgv?: readonly string[] }} [options] `core`: where it is kept, if it can be
 */
export async function start(path, { core, args = [], execArgv = [] } = {}) {
  const pin = canPin && core !== undefined
  const child = fork(path, args, {
    execPath: pin ? 'taskset' : process.execPath,
    execArgv: pin ? ['-c', String(core), process.execPath, ...execArgv] : execArgv,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  const exited = once(child, 'exit')
  async function message() {
    const died = exited.then(([code]) =>
      Promise.reject(new Error(`${path} ${args.join(' ')} ended with ${code}`)),
    )
    const [answer] = await Promise.race([once(child, 'message'), died])
    return answer
  }
  const ready = await message()
  return {
    pid: child.pid,
    /** What it said when it was ready. */
    ready,
    ask(question) {
      const answer = message()
      child.send(question)
      return answer
    },
    async close() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
