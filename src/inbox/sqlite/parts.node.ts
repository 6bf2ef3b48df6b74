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

/** @param path of a database that is open: its files are remembered as they are now */
export function rememberParts(path: string): Parts {
  const [database, log, index] = [path, `${path}-wal`, `${path}-shm`].map(remember) as [Part, Part, Part]

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

function remember(name: string): Part {
  const before = statSync(name, { throwIfNoEntry: false })
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

const isSame = (before: Stats | undefined, now: Stats | undefined): boolean =>
  before?.ino === now?.ino && before?.dev === now?.dev
