import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'

/** True if processes can be pinned to a core with `taskset`, which only Linux has. */
export const canPin = cpus().length > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0

/**
 * Starts a Node process. The process must send a message when it is ready, and reply once to each message of `ask`.
 *
 * @param {string} path the module
 * @param {{ core?: number, args?: readonly string[], execArgv?: readonly string[] }} [options] `core`: the core to pin the process to, if possible
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
      Promise.reject(new Error(`${path} ${args.join(' ')} exited with ${code}`)),
    )
    const [answer] = await Promise.race([once(child, 'message'), died])
    return answer
  }
  const ready = await message()
  return {
    pid: child.pid,
    /** The message that the process sent when it was ready. */
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

/**
 * Runs `work` with processes, and ends all of them afterwards.
 *
 * @param {Promise<Awaited<ReturnType<typeof start>>>[]} starting
 */
export async function withProcesses(starting, work) {
  const started = await Promise.allSettled(starting)
  const running = started.flatMap(({ value }) => value ?? [])
  try {
    const failed = started.find(({ status }) => status === 'rejected')
    if (failed) throw failed.reason
    return await work(...running)
  } finally {
    for (const child of running) await child.close()
  }
}
