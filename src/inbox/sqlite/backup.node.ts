import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  truncateSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { configInvalid } from '../../errors.ts'
import { createEmptyFile, toConfigInvalid } from './path.node.ts'
import { createTransactions } from './transactions.ts'

/**
 * Copies an inbox file that is in use. The copy is written to a `-part` file in the folder of `to`, and gets the name
 * `to` when it is complete. If the process is killed, the `-part` file can remain, and an empty file `to` if the file
 * system has no hard links.
 */
export async function backUp(path: string, to: string): Promise<void> {
  if (!existsSync(path)) throw configInvalid(`${path} does not exist`, 'Give the path of an inbox.')
  requireMissing(to)
  const part = `${to}-${randomBytes(8).toString('hex')}-part`
  if (!createEmptyFile(part, to)) throw alreadyExists(to)
  const transactions = createTransactions(path)
  try {
    await transactions.read((db) => {
      truncateSync(part) // `read` retries after a lock error, and the failed attempt may have written to `part`
      db.run('VACUUM INTO ?', part)
    })
    flush(part)
    moveTo(to, part)
    if (process.platform !== 'win32') flush(dirname(to))
  } finally {
    rmSync(part, { force: true })
    await transactions.close()
  }
}

/** Throws before the backup starts if `to` exists. If `to` is created during the backup, `moveTo` detects it. */
function requireMissing(to: string): void {
  try {
    if (lstatSync(to, { throwIfNoEntry: false })) throw alreadyExists(to)
  } catch (error) {
    throw toConfigInvalid(to, error)
  }
}

/**
 * Gives `part` the name `to` with a hard link, because a rename would replace a file that was created during the
 * backup.
 */
function moveTo(to: string, part: string): void {
  try {
    linkSync(part, to)
    return
  } catch {} // of any code, because file systems without hard links report various ones
  if (!createEmptyFile(to)) throw alreadyExists(to)
  try {
    renameSync(part, to)
  } catch (error) {
    rmSync(to, { force: true })
    throw error
  }
}

const alreadyExists = (to: string): Error =>
  configInvalid(`${to} exists already`, 'Give another path: a backup replaces nothing.')

function flush(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
