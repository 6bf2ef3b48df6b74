import { readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import { toConfigInvalid } from './making.node.ts'

/**
 * Resolves all symbolic links of a path, whether its file exists or not. SQLite does the same, and keeps the
 * write-ahead log beside the file that a link leads to.
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

/** Returns the target of a symbolic link whose file does not exist; `undefined` if there is no link. */
function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
