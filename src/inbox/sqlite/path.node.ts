import { accessSync, closeSync, constants, openSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { configInvalid, WebhookError } from '../../errors.ts'
import { describeMissing } from '../../options.ts'

/**
 * Validates a path and makes it absolute, so that a later change of the working directory has no effect.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function readPath(path: unknown): string {
  if (path === undefined || path === null || path === '') throw configInvalid(describeMissing('path', path))
  if (typeof path !== 'string' || path === ':memory:')
    throw configInvalid('path must be the path of a file', 'For an inbox in memory, use createMemoryInbox().')
  // SQLite would parse a path that starts with `file:` as a URL. Drivers strip white space or end the path at a NUL.
  if (/^file:|^\s|\s$|\0/.test(path))
    throw configInvalid(
      'path must not begin with file:, begin or end with white space, or contain a NUL character',
    )
  return resolve(path)
}

/**
 * Resolves all symbolic links of a path, whether or not its file exists. SQLite does the same, and keeps the
 * write-ahead log next to the target of the links.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function realPath(path: string): string {
  try {
    return resolveLinks(path)
  } catch (error) {
    throw toConfigInvalid(path, error)
  }
}

function resolveLinks(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const folder = realpathSync.native(dirname(path))
  const target = readLink(path)
  if (target === undefined) return join(folder, basename(path))
  return resolveLinks(isAbsolute(target) ? target : `${folder}${sep}${target}`)
}

/** Returns the target of a symbolic link, or `undefined` if the path is not a link. */
function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/**
 * Creates an empty file that only its owner may read; SQLite gives the log files the same mode. Returns false if the
 * file exists. It is not opened then, because closing it would release the locks that this process holds on it.
 *
 * @param named the path in errors
 */
export function createEmptyFile(path: string, named: string = path): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw toConfigInvalid(named, error)
  }
}

/** @throws {WebhookError} `config_invalid` if the file exists, but cannot be read and written */
export function requireUsable(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw pathError(path, 'is a folder', 'Give the path of a file in it.')
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    // If the file was deleted in the meantime, SQLite creates it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toConfigInvalid(path, error)
  }
}

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

const pathError = (path: string, problem: string, hint: string, cause?: unknown): WebhookError =>
  new WebhookError('config_invalid', { message: `${path} ${problem}`, hint, cause })
