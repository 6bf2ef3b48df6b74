import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createSaveQueue } from '../../mock/save-queue.ts'
import { readJson } from '../io/json.ts'
import { lock, toStateFileError } from './lock.ts'

/** A file that stays complete if the process dies at any moment: it contains the last saved value. */
export interface StateFile {
  /** The parsed content when it was opened; undefined if the file did not exist. */
  readonly content: unknown
  /** Resolves when this value, or a later one, would survive a power failure. */
  save(value: unknown): Promise<void>
  /** Allows other processes to open the file. */
  release(): Promise<void>
}

/** Longest string in Node, in bytes. */
const MAX_BYTES = 512 * 1024 * 1024

/**
 * Locks a state file for this process, and reads it.
 *
 * @throws {CliError} exit code 2 if another process has locked the file, or it cannot be read or parsed; the file is
 *   not changed
 */
export async function openStateFile(name: string): Promise<StateFile> {
  // A symbolic link stays, and its target is replaced.
  const path = await realpath(name).catch(() => name)
  const release = await lock(path)
  try {
    const exists = await stat(path).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
    )
    return { content: exists ? await readJson(path, MAX_BYTES) : undefined, save: createSave(path), release }
  } catch (error) {
    await release()
    throw error
  }
}

function createSave(path: string): StateFile['save'] {
  let latest: unknown
  const saveLatest = createSaveQueue(() => replaceFile(path, JSON.stringify(latest, null, 2)))
  return (value) => {
    latest = value
    return saveLatest()
  }
}

/** Writes a temporary file in the same folder, and renames it when it is complete. */
async function replaceFile(path: string, json: string): Promise<void> {
  // Not a name that a user would choose, because an existing file is removed.
  const temporary = `${path}-geohook-part`
  try {
    // A process that died may have left it, or it may be a symbolic link.
    await rm(temporary, { force: true })
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(`${json}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    await syncFolder(dirname(path))
  } catch (error) {
    throw toStateFileError(path, error)
  }
}

/** Writes the new name to the disk as well. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return // folders cannot be opened there
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
