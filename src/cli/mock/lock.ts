import { randomInt, randomUUID } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { CliError, usageError } from '../errors.ts'

/** How often to look again while another process has the file, or is about to take it. */
const TRIES = 10

/** A process that is alive, and its lock file. */
interface Other {
  pid: number
  file: string
}

/**
 * Takes a state file for this process alone: two processes that write it would undo each other's changes.
 *
 * Each process puts a lock file of its own beside the state file, and then has it if it sees no lock file of another
 * living process. Of two that come at the same moment, at least one sees the other; the one whose name sorts first stays.
 * The lock files of dead processes are safe to remove, because their names never come back.
 *
 * @returns a function that gives it back
 * @throws {CliError} exit code 2 where another process has it, or its folder cannot be written
 */
export async function lock(path: string): Promise<() => Promise<void>> {
  const own = join(dirname(path), `${basename(path)}.${process.pid}-${randomUUID()}.lock`)
  const release = (): Promise<void> => rm(own, { force: true })
  let isPlaced = false
  try {
    for (let tries = 0; ; ) {
      const others = await findOthers(path, own)
      const [other] = others
      if (other) {
        if (isPlaced && others.some(({ file }) => file < own)) {
          await release()
          isPlaced = false
        }
        if (++tries > TRIES) throw inUse(path, other)
        await wait(randomInt(5, 60))
      } else if (isPlaced) return release
      else {
        await writeFile(own, '', { flag: 'wx', mode: 0o600 })
        isPlaced = true
      }
    }
  } catch (error) {
    await release().catch(() => {})
    throw toCliError(path, error)
  }
}

/** Living processes that have the state file, or are about to take it. Removes the lock files of dead ones. */
async function findOthers(path: string, own: string): Promise<Other[]> {
  const others: Other[] = []
  for (const name of await readdir(dirname(path))) {
    const file = join(dirname(path), name)
    const pid = pidOf(name, basename(path))
    if (pid === undefined || file === own) continue
    if (isAlive(pid)) others.push({ pid, file })
    else await rm(file, { force: true })
  }
  return others
}

/** The process that a lock file belongs to; undefined for any other file. */
function pidOf(name: string, stateFile: string): number | undefined {
  if (!name.startsWith(`${stateFile}.`)) return undefined
  const [, pid] = /^(\d{1,10})-[\da-f-]{36}\.lock$/.exec(name.slice(stateFile.length + 1)) ?? []
  return pid === undefined ? undefined : Number(pid)
}

/** A process with the id of this one is its predecessor, as in a container. */
function isAlive(pid: number): boolean {
  if (pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const inUse = (path: string, { pid, file }: Other): CliError =>
  usageError(
    `${path} is in use by the process ${pid}`,
    `End it, or give another file. If no such mock runs, remove ${file}.`,
  )

function toCliError(path: string, error: unknown): CliError {
  if (error instanceof CliError) return error
  const { code, message } = error as NodeJS.ErrnoException
  return usageError(
    `cannot write the state file ${path}: ${code ?? message}`,
    'Is its folder there, with room in it?',
  )
}
