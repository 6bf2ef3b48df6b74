import { type Stats, statSync } from 'node:fs'

export interface OpenFiles {
  /** True if the log was empty when the database was opened. */
  isLogEmpty: boolean
  /** Throws if a file was deleted or replaced, because further writes would be lost. */
  requireSame(): void
  /**
   * True if the log or its index was deleted and no other process has started a new one, while the database file is
   * still the same. In this case, the open connection can still move the deleted log into the database.
   */
  canSaveLog(): boolean
  /**
   * True if only the log was replaced: another process has started a new log after the old one was deleted. The index,
   * which the processes share, then describes the new log.
   */
  isLogReplaced(): boolean
}

/**
 * Remembers the identity of the files of an open database, to detect later whether one of them was deleted or replaced.
 *
 * @param path path of the database. If it is a symbolic link whose target changes, the database counts as replaced
 * @param real path of the open file, without symbolic links
 */
export function watchOpenFiles(path: string, real: string): OpenFiles {
  const database = watchFile(path, real)
  const log = watchFile(`${real}-wal`)
  const index = watchFile(`${real}-shm`)

  return {
    isLogEmpty: log.isEmpty,
    requireSame() {
      for (const { name, check } of [database, log, index])
        if (check() !== 'same') throw new Error(`${name} was deleted or replaced while the inbox was open`)
    },
    canSaveLog() {
      const results = [log.check(), index.check()]
      if (database.check() !== 'same' || results.every((result) => result === 'same')) return false
      return results.every((result) => result !== 'replaced')
    },
    isLogReplaced: () =>
      log.check() === 'replaced' && index.check() === 'same' && database.check() === 'same',
  }
}

interface WatchedFile {
  name: string
  isEmpty: boolean
  check(): 'same' | 'missing' | 'replaced'
}

function watchFile(name: string, opened = name): WatchedFile {
  const before = statSync(opened, { throwIfNoEntry: false })
  return {
    name,
    isEmpty: before?.size === 0,
    check() {
      const now = statSync(name, { throwIfNoEntry: false })
      if (isSame(before, now)) return 'same'
      // An empty new log was created by a process that only tried to read, so the old log counts as missing, not as
      // replaced.
      return now && now.size > 0 ? 'replaced' : 'missing'
    },
  }
}

/** Returns false for a missing file, because all files of an open database exist. */
const isSame = (before: Stats | undefined, now: Stats | undefined): boolean =>
  now !== undefined && before?.ino === now.ino && before.dev === now.dev
