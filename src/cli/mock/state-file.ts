import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { platform } from 'node:process'
import { createSaveQueue } from '../../mock/save-queue.ts'
import { readJson } from '../io/json.ts'
import type { Io } from '../terminal/io.ts'
import { lock, toStateFileError } from './lock.ts'

/** A JSON file that always contains a complete value, even if the process crashes during a save. */
export interface StateFile {
  /** The parsed content of the file when it was opened, or undefined if the file did not exist. */
  readonly content: unknown
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
    return {
      content: exists ? await readJson(io, path, MAX_BYTES) : undefined,
      save: createSave(path),
      release,
    }
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

/** Writes a temporary file in the same folder, and renames it once it is complete. */
async function replaceFile(path: string, json: string): Promise<void> {
  // Saving removes any existing file with this name, so it must be a name that users do not choose.
  const temporary = `${path}-geohook-part`
  try {
    // A killed process may have left a file with this name, or someone may have created a symbolic link.
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

/** Syncs a folder to disk, so that a rename in it survives a power failure. */
async function syncFolder(folder: string): Promise<void> {
  if (platform === 'win32') return // Node cannot open folders on Windows
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
