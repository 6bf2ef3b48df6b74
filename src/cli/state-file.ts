import { open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { usageError } from './exit.ts'
import { readJson } from './files.ts'

/** A file that survives the death of its process at any moment: it holds what was saved last, and never half of it. */
export interface StateFile {
  /**
   * What was saved last; undefined where nothing ever was.
   *
   * @throws {CliError} exit code 2 for a file that cannot be read or is damaged; it stays as it is
   */
  load(): Promise<unknown>
  /** Resolves when this value, or one that was saved after it, would survive a power cut. */
  save(value: unknown): Promise<void>
}

export function createStateFile(path: string): StateFile {
  let latest: unknown
  let running: Promise<void> = Promise.resolve()
  let waiting: Promise<void> | undefined

  return {
    async load() {
      const isThere = await stat(path).then(
        () => true,
        (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
      )
      return isThere ? readJson(path) : undefined
    },
    save(value) {
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
    },
  }
}

/** Written beside the file, and put in its place when it is whole. */
async function write(path: string, json: string): Promise<void> {
  const beside = `${path}.tmp`
  try {
    const file = await open(beside, 'w', 0o600)
    try {
      await file.chmod(0o600) // one may have been left by a process that died
      await file.writeFile(`${json}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(beside, path)
    await syncFolder(dirname(path))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw usageError(
      `cannot write the state file ${path}: ${code ?? message}`,
      'Is its folder there, with room in it?',
    )
  }
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
