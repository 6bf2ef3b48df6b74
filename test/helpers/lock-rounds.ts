import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SCRIPT = new URL('lock-process.ts', import.meta.url).pathname
const NAME = 'state.json'

async function startProcess(): Promise<ChildProcess> {
  const child = fork(SCRIPT, { execArgv: ['--import', 'tsx'] })
  await once(child, 'message')
  return child
}

async function ask(child: ChildProcess, message: object): Promise<string> {
  const answered = once(child, 'message')
  child.send(message)
  const [answer] = await answered
  return answer
}

/**
 * In each round, several processes try to lock the same file in the same millisecond. Three out of four rounds start
 * with a stale lock file of a killed process.
 *
 * @returns for each round, the number of processes that got the lock
 */
export async function lockRounds(rounds: number, processes: number): Promise<number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-lock-'))
  const stale = join(folder, 'stale')
  const fresh = join(folder, 'fresh')
  mkdirSync(stale)
  mkdirSync(fresh)
  const [dead, ...children] = await Promise.all(Array.from({ length: processes + 1 }, startProcess))
  const owners: number[] = []
  try {
    if (!dead || (await ask(dead, { take: join(stale, NAME), at: 0 })) !== 'owner')
      throw new Error('no owner')
    dead.kill('SIGKILL')
    await once(dead, 'exit')
    for (let round = 0; round < rounds; round++) {
      const here = join(folder, String(round))
      cpSync(round % 4 === 3 ? fresh : stale, here, { recursive: true })
      const at = Date.now() + 10
      const answers = await Promise.all(children.map((child) => ask(child, { take: join(here, NAME), at })))
      owners.push(answers.filter((answer) => answer === 'owner').length)
      await Promise.all(children.map((child) => ask(child, {})))
    }
    return owners
  } finally {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}
