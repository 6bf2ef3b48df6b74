import { type Stats, statSync } from 'node:fs'

/** The files of an open database. */
export interface Parts {
  /** True if there was nothing in the log yet. */
  isLogEmpty: boolean
  /** Throws if one of them was deleted or replaced: nobody would find again what is written into it. */
  require(): void
  /**
   * True if the log or its index was deleted, and no other process has begun a new one. Then the open connection can
   * still move what the deleted log holds into the database.
   */
  canBeSaved(): boolean
}

/**
 * Remembers the files of an open database as they are now.
 *
 * @param path may be a symbolic link: if it leads to another file later, the database counts as replaced
 * @param real path of the open file, without symbolic links
 */
export function rememberParts(path: string, real: string): Parts {
  const database = remember(path, real)
  const log = remember(`${real}-wal`)
  const index = remember(`${real}-shm`)

  return {
    isLogEmpty: log.isEmpty,
    require() {
      for (const { name, look } of [database, log, index])
        if (look() !== 'same') throw new Error(`${name} was deleted or replaced while the inbox was open`)
    },
    canBeSaved() {
      const found = [log.look(), index.look()]
      if (database.look() !== 'same' || found.every((one) => one === 'same')) return false
      return found.every((one) => one !== 'another')
    },
  }
}

interface Part {
  name: string
  isEmpty: boolean
  look(): 'same' | 'missing' | 'another'
}

function remember(name: string, opened = name): Part {
  const before = statSync(opened, { throwIfNoEntry: false })
  return {
    name,
    isEmpty: before?.size === 0,
    look() {
      const now = statSync(name, { throwIfNoEntry: false })
      if (isSame(before, now)) return 'same'
      // A new log that is empty was made by a process that has only tried to read.
      return now && now.size > 0 ? 'another' : 'missing'
    },
  }
}

/** A missing file is never the same: while a database is open, all of its files exist. */
const isSame = (before: Stats | undefined, now: Stats | undefined): boolean =>
  now !== undefined && before?.ino === now.ino && before.dev === now.dev
