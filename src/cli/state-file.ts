import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type CliError, usageError } from './exit.ts'
import { readJson } from './files.ts'
import { lock } from './lock.ts'

/** A file that survives the death of its process at any moment: it holds what was saved last, and never half of it. */
export interface StateFile {
  /** What it held; undefined where nothing was ever saved. */
  readonly content: unknown
  /** Resolves when this value, or one that was saved after it, would survive a power cut. */
  save(value: unknown): Promise<void>
  /** Lets other processes have it. */
  release(): Promise<void>
}

/** As much as Node can hold in one text. */
const MAX_BYTES = 512 * 1024 * 1024

/**
 * Takes a state file for this process alone, and reads it.
 *
 * @throws {CliError} exit code 2 for a file that another process has, cannot be read or is damaged; it stays as it is
 */
export async function openStateFile(name: string): Promise<StateFile> {
  // Of a symbolic link, the file that it leads to is kept.
  const path = await realpath(name).catch(() => name)
  const release = await lock(path)
  try {
    const isThere = await stat(path).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
    )
    return { content: isThere ? await readJson(path, MAX_BYTES) : undefined, save: createSave(path), release }
  } catch (error) {
    await release()
    throw error
  }
}

function createSave(path: string): StateFile['save'] {
  let latest: unknown
  let running: Promise<void> = Promise.resolve()
  let waiting: Promise<void> | undefined
  return (value) => {
    latest = value
    // All that wait for the write under way share the one after it, which has the latest of their values.
    waiting ??= running
      .catch(() => {})
      .then(() => {
        running = write(path, JSON.stringify(latest, null, 2))
        waiting = undefined
        return running
      })
    return waiting
  }
}

/** Written beside the file, and put in its place when it is whole. */
async function write(path: string, json: string): Promise<void> {
  // No name that a user would give a file: what has it is removed.
  const beside = `${path}-geohook-part`
  try {
    // A process that died may have left one, and somebody may have put a symbolic link there.
    await rm(beside, { force: true })
    const file = await open(beside, 'wx', 0o600)
    try {
      await file.writeFile(`${json}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(beside, path)
    await syncFolder(dirname(path))
  } catch (error) {
    throw cannotWrite(path, error)
  }
}

const cannotWrite = (path: string, error: unknown): CliError => {
  const { code, message } = error as NodeJS.ErrnoException
  return usageError(
    `cannot write the state file ${path}: ${code ?? message}`,
    'Is its folder there, with room in it?',
  )
}

/** So that the new name is on the disk too. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return // which cannot open folders
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
