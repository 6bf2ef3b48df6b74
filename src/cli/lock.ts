import { readFile, rm, writeFile } from 'node:fs/promises'
import { usageError } from './exit.ts'

/**
 * Takes a file for this process alone: two that write it would undo one another's changes. Beside it lies a file with
 * the id of the process; one of a process that has died does not count.
 *
 * @returns a function that gives it back
 * @throws {CliError} exit code 2 where another process has it, or its folder cannot be written
 */
export async function lock(path: string): Promise<() => Promise<void>> {
  const beside = `${path}.lock`
  for (let tries = 0; tries < 3; tries++) {
    try {
      await writeFile(beside, `${process.pid}\n`, { flag: 'wx', mode: 0o600 })
      return () => rm(beside, { force: true })
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code !== 'EEXIST')
        throw usageError(
          `cannot write the state file ${path}: ${code ?? message}`,
          'Is its folder there, with room in it?',
        )
    }
    const owner = Number(await readFile(beside, 'utf8').catch(() => ''))
    if (isAlive(owner))
      throw usageError(
        `${path} is in use by the process ${owner}`,
        `End it, or give another file. If no such mock runs, remove ${beside}.`,
      )
    await rm(beside, { force: true })
  }
  throw usageError(`${path} is in use`, 'Give another file.')
}

/** A process of the same number as this one is this one's predecessor, as in a container. */
function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
