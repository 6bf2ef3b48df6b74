import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { configInvalid } from '../../errors.ts'
import { toConfigInvalid } from './making.node.ts'
import { createStore } from './store.ts'

/** Copies an inbox file that is in use; `to` has the whole copy, or nothing. */
export async function backUp(path: string, to: string): Promise<void> {
  if (!existsSync(path)) throw configInvalid(`${path} does not exist`, 'Give the path of an inbox.')
  const part = `${to}-part`
  make(to) // so that no other program takes the name meanwhile
  const store = createStore(path)
  try {
    await store.read((db) => {
      rmSync(part, { force: true })
      make(part)
      db.run('VACUUM INTO ?', part)
    })
    flush(part)
    renameSync(part, to)
    if (process.platform !== 'win32') flush(dirname(to))
  } catch (error) {
    for (const file of [part, to]) rmSync(file, { force: true })
    throw error
  } finally {
    await store.close()
  }
}

/** Only the owner may read it. */
function make(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw configInvalid(`${file} exists already`, 'Give another path: a backup replaces nothing.')
    throw toConfigInvalid(file, error)
  }
}

/** Waits until it is on the disk. */
function flush(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
