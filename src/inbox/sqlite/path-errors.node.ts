import { dirname } from 'node:path'
import { WebhookError } from '../../errors.ts'

/**
 * Problem and fix for each error code that an invalid path causes. Other errors, like a full disk, are not included.
 */
const PROBLEMS: Readonly<Record<string, (path: string) => [problem: string, fix: string]>> = {
  ENOENT: (path) => ['is in a folder that does not exist', `Create the folder ${dirname(path)}.`],
  ENOTDIR: (path) => [`is not in a folder: ${dirname(path)} is a file`, 'Give another path.'],
  EACCES: () => ['cannot be read and written', 'Give this user access to the file and its folder.'],
  EPERM: () => ['cannot be read and written', 'Give this user access to the file and its folder.'],
  ELOOP: () => ['is a symbolic link that leads back to itself', 'Correct the link, or give another path.'],
  EROFS: () => ['is on a read-only file system', 'Mount it for writing, or give another path.'],
  ENAMETOOLONG: () => ['is too long for a path', 'Give a shorter path.'],
}

/** Converts an error listed in `PROBLEMS` to `config_invalid`. Returns any other error unchanged. */
export function toConfigInvalid(path: string, error: unknown): unknown {
  const problem = PROBLEMS[String((error as NodeJS.ErrnoException).code)]
  return problem ? pathError(path, ...problem(path), error) : error
}

/** Creates the error for a file that SQLite cannot read as a database. */
export const notADatabase = (path: string, cause: unknown): WebhookError =>
  pathError(
    path,
    'is not a database of SQLite',
    'Give the inbox a file of its own, or restore a backup.',
    cause,
  )

export const pathError = (path: string, problem: string, hint: string, cause?: unknown): WebhookError =>
  new WebhookError('config_invalid', { message: `${path} ${problem}`, hint, cause })
