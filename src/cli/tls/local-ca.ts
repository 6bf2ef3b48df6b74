import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CliError, usageError } from '../errors.ts'
import { type CaFiles, caFolder, currentFiles, FOLDER_VARIABLE, filesIn } from './ca-folder.ts'
import type { KeyPair } from './issue.ts'
import { isDue, readCa, type StoredCa } from './stored-ca.ts'

/** The local CA. */
export interface LocalCa extends KeyPair {
  /** Path of its certificate. */
  path: string
  /** True if this process has replaced an expired CA. */
  isRenewed: boolean
}

/** Maximum number of attempts if other processes create or renew the CA at the same time. */
const MAX_ATTEMPTS = 20

/**
 * Reads the CA of this user. Creates a missing CA, and renews one when it expires within the lifetime of a server
 * certificate.
 *
 * @throws {CliError} exit code 2 for damaged or unreadable files, or a folder that cannot be written
 */
export async function openLocalCa(now: number = Date.now()): Promise<LocalCa> {
  const files = currentFiles()
  let isRenewed = false
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const stored = await readCa(files)
    if (stored && !isDue(stored, now)) {
      const { certificate, key } = stored
      return { certificate, key, path: files.certificate, isRenewed }
    }
    try {
      if (stored && (await retire(stored, files))) isRenewed = true
      await create(files, now)
    } catch (error) {
      throw unwritable(error)
    }
  }
  throw unwritable(new Error('other processes keep changing it'))
}

/** Creates a CA, unless another process has just created one. */
async function create(files: CaFiles, now: number): Promise<void> {
  const { issueCa } = await import('./issue.ts')
  const { certificate, key } = await issueCa(now)
  const temporary = filesIn(join(caFolder(), `new-${randomUUID()}`))
  await mkdir(temporary.folder, { recursive: true, mode: 0o700 })
  try {
    await writeFile(temporary.certificate, certificate, { flag: 'wx', mode: 0o600, flush: true })
    await writeFile(temporary.key, key, { flag: 'wx', mode: 0o600, flush: true })
    await renameIfAbsent(temporary.folder, files.folder)
  } finally {
    await rm(temporary.folder, { recursive: true, force: true })
  }
}

/**
 * Moves an expired CA to a folder that is named after it, and removes its key. If another process has moved it before,
 * that folder exists, so a renewed CA is never moved by mistake.
 *
 * @returns false if another process has moved it
 */
async function retire({ serialNumber }: StoredCa, { folder }: CaFiles): Promise<boolean> {
  const retired = filesIn(join(caFolder(), `expired-${serialNumber}`))
  const isMoved = await renameIfAbsent(folder, retired.folder)
  if (isMoved) await rm(retired.key, { force: true })
  return isMoved
}

/** Renames a folder, unless the new name exists and is not empty. @returns false if it exists, or the old one does not */
async function renameIfAbsent(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(code)) return false
    // Windows reports an existing folder like this.
    if (process.platform === 'win32' && ['EPERM', 'EACCES'].includes(code)) return false
    throw error
  }
}

function unwritable(error: unknown): CliError {
  const { code, message } = error as NodeJS.ErrnoException
  return usageError(
    `cannot create the local CA in ${caFolder()}: ${code ?? message}`,
    `Give another folder in the environment variable ${FOLDER_VARIABLE}, or a certificate of your own with --tls-cert and --tls-key.`,
    'ca_unwritable',
  )
}
