import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { pathError, toConfigInvalid } from './path-errors.node.ts'

/**
 * Creates the file of an inbox if it is missing. Only the owner may read the file; SQLite gives its log files the same
 * mode. An existing file is not opened, because closing it would release the locks that this process already holds on
 * it.
 *
 * @throws {WebhookError} `config_invalid` if the path cannot be read and written
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw toConfigInvalid(path, error)
    requireUsable(path)
  }
}

function requireUsable(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw pathError(path, 'is a folder', 'Give the path of a file in it.')
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    // If the file was deleted in the meantime, SQLite creates it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toConfigInvalid(path, error)
  }
}
