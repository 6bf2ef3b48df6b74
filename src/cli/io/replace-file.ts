import { randomInt, randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import { type FileHandle, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { kill, pid as ownPid, platform } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { CliError, usageError } from '../errors.ts'

/** Path of the temporary file. Users do not choose it: writing deletes any file with this name. */
export const partOf = (path: string): string => `${path}-geohook-part`

/**
 * Writes a temporary file in the same folder, and renames it once it is complete. A file that is mounted by itself cannot
 * be replaced, so it is overwritten. The temporary file stays until then, so that a killed process loses nothing.
 *
 * @param kept the owner and mode that the file gets. Default: those of the user, and 0600
 * @returns true if the file was overwritten
 * @throws {CliError} exit code 2
 */
export async function replaceFile(path: string, text: string, kept?: Stats): Promise<boolean> {
  const part = partOf(path)
  let isMounted = false
  try {
    // A killed process may have left a file with this name, or someone may have created a symbolic link.
    await rm(part, { force: true })
    await withFile(part, 'wx', async (file) => {
      if (kept) await keepOwner(file, kept)
      await file.writeFile(text)
    })
    isMounted = await rename(part, path).then(
      () => false,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EBUSY') throw error
        return true
      },
    )
    if (isMounted) {
      await withFile(path, 'r+', async (file) => {
        await file.writeFile(text)
        await file.truncate(Buffer.byteLength(text))
      })
      await rm(part)
    }
    // Syncs the folder, so that the new name survives a power failure. Node cannot open folders on Windows.
    if (platform !== 'win32') await withFile(dirname(path), 'r', async () => {})
    return isMounted
  } catch (error) {
    // While a file is overwritten, only the temporary file is complete.
    if (!isMounted) await rm(part, { force: true }).catch(() => {})
    throw toFileError(path, error)
  }
}

/** Opens a file or folder, and syncs it at the end. */
async function withFile(
  path: string,
  flags: string,
  use: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags, 0o600)
  try {
    await use(file)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A change of the owner can clear bits of the mode, so the mode comes last. */
async function keepOwner(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const own = await file.stat()
  if (uid !== own.uid || gid !== own.gid) await file.chown(uid, gid)
  await file.chmod(mode & 0o7777)
}

/** Maximum number of retries if another process holds the lock, or tries to get it at the same time. */
const MAX_RETRIES = 10

interface OtherProcess {
  pid: number
  file: string
}

/**
 * Locks a file for this process, because two processes that write it would undo each other's changes.
 *
 * Each process creates its own lock file next to the file, and holds the lock if no other running process has a
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
    throw toFileError(path, error)
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
function pidOf(name: string, locked: string): number | undefined {
  if (!name.startsWith(`${locked}.`)) return undefined
  const [, pid] = /^(\d{1,10})-[\da-f-]{36}\.lock$/.exec(name.slice(locked.length + 1)) ?? []
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
    `Stop it, or give another file. If that process is not geohook, remove ${file}.`,
  )

function toFileError(path: string, error: unknown): CliError {
  if (error instanceof CliError) return error
  const { code, message } = error as NodeJS.ErrnoException
  return usageError(
    `cannot write ${path}: ${code ?? message}`,
    /^(?:EPERM|EACCES|EROFS)$/.test(String(code))
      ? 'Run this as the owner of the file, and make its folder writable.'
      : 'Check that its folder exists and the disk has space.',
  )
}
