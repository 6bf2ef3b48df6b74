import { realpath, stat } from 'node:fs/promises'
import { createSaveQueue } from '../../shared/save-queue.ts'
import { readJson } from '../io/files.ts'
import { lock, replaceFile } from '../io/replace-file.ts'
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
    const saveLatest = createSaveQueue(async () => {
      await replaceFile(path, `${JSON.stringify(latest, null, 2)}\n`)
    })
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
