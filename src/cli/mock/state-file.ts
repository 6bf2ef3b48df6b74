import { randomInt, randomUUID } from 'node:crypto'
import { open, readdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { kill, pid as ownPid, platform } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { createSaveQueue } from '../../shared/save-queue.ts'
import { CliError, usageError } from '../errors.ts'
import { readJson } from '../io/files.ts'
import type { Io } from '../terminal/io.ts'

/** A JSON file that always contains a complete value, even if the process crashes during a save. */
export interface StateFile {
  /** The parsed content of the file when it was opened, or undefined if the file did not exist. */
  readonly content: unknown
  /** True once `save` has been called. */
  readonly isSaved: boolean
  /** Resolves when this value, or a later one, is synced to disk. */
  save(value: unknown): Promise<void>
  /** Releases the lock, so that other processes can open the file. */
  release(): Promise<void>
}

/** Maximum file size in bytes: the longest string that Node supports. */
const MAX_BYTES = 512 * 1024 * 1024

/**
 * Locks a state file for this process, and reads it.
 *
 * @throws {CliError} exit code 2 if another process holds the lock, or the file is unreadable or not JSON. The file
 *   stays unchanged.
 */
export async function openStateFile(io: Io, name: string): Promise<StateFile> {
  // Resolves a symbolic link, because saving would replace the link instead of its target.
  const path = await realpath(name).catch(() => name)
  const release = await lock(path)
  try {
    const exists = await stat(path).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
    )
    const content = exists ? await readJson(io, path, MAX_BYTES) : undefined
    let latest: unknown
    const saveLatest = createSaveQueue(() => replaceFile(path, JSON.stringify(latest, null, 2)))
    return {
      content,
      get isSaved() {
        return latest !== undefined
      },
      save(value) {
        latest = value
        return saveLatest()
      },
      release,
    }
  } catch (error) {
    await release()
    throw error
  }
}

/** Writes a temporary file in the same folder, and renames it once it is complete. */
async function replaceFile(path: string, json: string): Promise<void> {
  // Saving removes any existing file with this name, so it must be a name that users do not choose.
  const temporary = `${path}-geohook-part`
  try {
    // A killed process may have left a file with this name, or someone may have created a symbolic link.
    await rm(temporary, { force: true })
    await writeFile(temporary, `${json}\n`, { flag: 'wx', mode: 0o600, flush: true })
    await rename(temporary, path)
    // Syncs the folder, so that the new name survives a power failure. Node cannot open folders on Windows.
    const folder = platform === 'win32' ? undefined : await open(dirname(path), 'r')
    await folder?.sync().finally(() => folder.close())
  } catch (error) {
    throw toStateFileError(path, error)
  }
}

/** Maximum number of retries if another process holds the lock, or tries to get it at the same time. */
const MAX_RETRIES = 10

interface OtherProcess {
  pid: number
  file: string
}

/**
 * Locks a state file for this process, because two processes that write it would undo each other's changes.
 *
 * Each process creates its own lock file next to the state file, and holds the lock if no other running process has a
 * lock file there. If two processes try at the same time, at least one sees the other's lock file. The process whose
 * file name sorts first wins. Lock files of dead processes can be removed safely, because their names are unique.
 *
 * @returns a function that releases the lock
 * @throws {CliError} exit code 2 if another process holds the lock, or the folder is not writable
 */
export async function lock(path: string): Promise<() => Promise<void>> {
  const own = join(dirname(path), `${basename(path)}.${ownPid}-${randomUUID()}.lock`)
  const release = (): Promise<void> => rm(own, { force: true })
  let isCreated = false
  try {
    for (let retries = 0; ; ) {
      const others = await findOthers(path, own)
      const [other] = others
      if (other) {
        if (isCreated && others.some(({ file }) => file < own)) {
          await release()
          isCreated = false
        }
        if (++retries > MAX_RETRIES) throw inUse(path, other)
        await delay(randomInt(5, 60))
      } else if (isCreated) return release
      else {
        await writeFile(own, '', { flag: 'wx', mode: 0o600 })
        isCreated = true
      }
    }
  } catch (error) {
    await release().catch(() => {})
    throw toStateFileError(path, error)
  }
}

/** Finds the other running processes with a lock file, and removes the lock files of dead processes. */
async function findOthers(path: string, own: string): Promise<OtherProcess[]> {
  const others: OtherProcess[] = []
  for (const name of await readdir(dirname(path))) {
    const file = join(dirname(path), name)
    const pid = pidOf(name, basename(path))
    if (pid === undefined || file === own) continue
    if (isAlive(pid)) others.push({ pid, file })
    else await rm(file, { force: true })
  }
  return others
}

/** Returns the process id in the name of a lock file, or undefined for any other file. */
function pidOf(name: string, stateFile: string): number | undefined {
  if (!name.startsWith(`${stateFile}.`)) return undefined
  const [, pid] = /^(\d{1,10})-[\da-f-]{36}\.lock$/.exec(name.slice(stateFile.length + 1)) ?? []
  return pid === undefined ? undefined : Number(pid)
}

/** Returns false for our own id: after a container restart, a dead process may have had the same id. */
function isAlive(pid: number): boolean {
  if (pid <= 0 || pid === ownPid) return false
  try {
    kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const inUse = (path: string, { pid, file }: OtherProcess): CliError =>
  usageError(
    `${path} is in use by process ${pid}`,
    `Stop it, or give another file. If no such mock is running, remove ${file}.`,
  )

function toStateFileError(path: string, error: unknown): CliError {
  if (error instanceof CliError) return error
  const { code, message } = error as NodeJS.ErrnoException
  return usageError(
    `cannot write the state file ${path}: ${code ?? message}`,
    'Check that its folder exists and the disk has space.',
  )
}
