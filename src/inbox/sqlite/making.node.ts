import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { WebhookError } from '../../errors.ts'

/**
 * Makes the file of an inbox if it is missing. Only the owner may read what senders send; SQLite gives the files beside
 * it the same mode. A file that is there is not even opened: closing it would take away the locks that this process
 * has on it.
 *
 * @throws {WebhookError} `config_invalid` if nothing can be read and written at the path
 */
export function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw toConfigInvalid(path, error)
    requireUsable(path)
  }
}

function requireUsable(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw refuse(path, 'is a folder', 'Give the path of a file in it.')
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    // If the file was deleted in between, SQLite creates it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toConfigInvalid(path, error)
  }
}

/** What is wrong with a path, and how it is put right. Anything else, like a full disk, is no fault of the path. */
const FAULTS: Readonly<Record<string, (path: string) => [what: string, fix: string]>> = {
  ENOENT: (path) => ['is in a folder that does not exist', `Create the folder ${dirname(path)}.`],
  ENOTDIR: (path) => [`is not in a folder: ${dirname(path)} is a file`, 'Give another path.'],
  EACCES: () => ['may not be read and written', 'Give this user access to the file and its folder.'],
  EPERM: () => ['may not be read and written', 'Give this user access to the file and its folder.'],
  ELOOP: () => ['is a symbolic link that leads back to itself', 'Correct the link, or give another path.'],
  EROFS: () => ['is on a read-only file system', 'Mount it for writing, or give another path.'],
  ENAMETOOLONG: () => ['is too long for a path', 'Give a shorter path.'],
}

export function toConfigInvalid(path: string, error: unknown): unknown {
  const fault = FAULTS[(error as NodeJS.ErrnoException).code ?? '']
  return fault ? refuse(path, ...fault(path), error) : error
}

/** The error for a file that SQLite cannot read as a database. */
export const noDatabase = (path: string, cause: unknown): WebhookError =>
  refuse(path, 'is not a database of SQLite', 'Give the inbox a file of its own, or restore a backup.', cause)

const refuse = (path: string, what: string, hint: string, cause?: unknown): WebhookError =>
  new WebhookError('config_invalid', { message: `${path} ${what}`, hint, cause })
