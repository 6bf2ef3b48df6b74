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
import { toConfigInvalid } from './making.node.ts'
import { createStore } from './store.ts'

/**
 * Copies an inbox file that is in use. The copy is made in a part file beside `to`, and is named `to` only when it is
 * whole. A process that is killed leaves at most the part file.
 */
export async function backUp(path: string, to: string): Promise<void> {
  if (!existsSync(path)) throw configInvalid(`${path} does not exist`, 'Give the path of an inbox.')
  requireFree(to)
  const part = `${to}-${randomBytes(8).toString('hex')}-part`
  make(part, to)
  const store = createStore(path)
  try {
    await store.read((db) => {
      truncateSync(part) // a try that failed because of a lock may have written something
      db.run('VACUUM INTO ?', part)
    })
    flush(part)
    moveTo(to, part)
    if (process.platform !== 'win32') flush(dirname(to))
  } finally {
    rmSync(part, { force: true })
    await store.close()
  }
}

/** Fails early: what happens to the name during the backup, only the end of the backup can see. */
function requireFree(to: string): void {
  let isFree: boolean
  try {
    isFree = lstatSync(to, { throwIfNoEntry: false }) === undefined
  } catch (error) {
    throw toConfigInvalid(to, error)
  }
  if (!isFree) throw taken(to)
}

/** Creates an empty file that only its owner may read. */
function make(file: string, to: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    throw isTaken(error) ? taken(to) : toConfigInvalid(to, error)
  }
}

/** Renaming would replace a file that was created during the backup; a hard link does not. */
function moveTo(to: string, part: string): void {
  try {
    linkSync(part, to)
  } catch (error) {
    if (isTaken(error)) throw taken(to)
    renameWithoutLinks(to, part)
  }
}

/** Some file systems have no hard links, and say so with various codes. */
function renameWithoutLinks(to: string, part: string): void {
  make(to, to)
  try {
    renameSync(part, to)
  } catch (error) {
    rmSync(to, { force: true })
    throw error
  }
}

const isTaken = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EEXIST'

const taken = (to: string): Error =>
  configInvalid(`${to} exists already`, 'Give another path: a backup replaces nothing.')

/** Waits until it is on the disk. */
function flush(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
