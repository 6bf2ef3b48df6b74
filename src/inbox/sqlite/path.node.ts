import { readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { configInvalid } from '../../errors.ts'
import { describeMissing } from '../../options.ts'
import { toConfigInvalid } from './path-errors.node.ts'

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
