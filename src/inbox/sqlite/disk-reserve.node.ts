import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { realPath } from './path.node.ts'

/** Bytes of the reserve on a disk of 128 MiB or more. On a smaller disk it is a sixteenth of the disk. */
const MAX_SIZE = 8 * 1024 ** 2

const PAGE = 4_096
const CHUNK = 1024 ** 2

/**
 * A file next to the database that only occupies space. Workers have to write even if the disk is full: deleting the
 * reserve gives them the space to do so.
 */
export interface DiskReserve {
  /** Creates the reserve if it is missing. Throws if the disk has no space for both the reserve and `bytes` more. */
  require(bytes: number): void
  /** True from the first rejection until the disk has clearly more space. */
  isShort(): boolean
  /** Deletes the reserve. */
  release(): void
}

export function createDiskReserve(path: string): DiskReserve {
  /** Bytes of the last rejected call, unless a call has succeeded since. */
  let rejected: number | undefined

  /** Computes how much disk space is missing to store `bytes` more, and how much the reserve still needs. */
  function measureNeed(bytes: number): { missing: number; reserve: number; file: string } {
    const file = reserveOf(path)
    const { size, free } = measureDisk(file)
    const reserve = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) < size ? size : 0
    // Every body is written twice: to the write-ahead log, and from there to the database.
    const needed = reserve + size / 4 + 2 * bytes + (rejected === undefined ? 0 : size)
    return { missing: Math.max(0, needed - free), reserve, file }
  }

  return {
    require(bytes) {
      const { missing, reserve, file } = measureNeed(bytes)
      rejected = missing > 0 ? bytes : undefined
      if (missing > 0) throw new Error(`the disk of ${path} is almost full: free at least ${missing} bytes`)
      if (reserve > 0) allocate(file, reserve)
    },
    isShort: () => rejected !== undefined && measureNeed(rejected).missing > 0,
    release() {
      try {
        rmSync(reserveOf(path), { force: true })
      } catch {} // the caller already has the error of the full disk
    },
  }
}

/** A symbolic link may lead to another disk: the reserve has to be on the disk of the database. */
const reserveOf = (path: string): string => `${realPath(path)}-reserve`

/** Returns the number of pages after which SQLite moves the write-ahead log: they must fit into half of the reserve. */
export const maxLogPages = (path: string): number => Math.min(1_000, measureDisk(path).size / 2 / PAGE)

/** Returns the bytes of the reserve, and the free bytes of the disk. */
function measureDisk(path: string): { size: number; free: number } {
  const { blocks, bavail, bsize } = statfsSync(dirname(path))
  // Some file systems, like ramfs, have no limit or do not report it.
  if (blocks === 0) return { size: MAX_SIZE, free: Infinity }
  const size = 2 * PAGE * Math.ceil(Math.min(MAX_SIZE, (blocks * bsize) / 16) / PAGE / 2)
  return { size, free: bavail * bsize }
}

/** Writes random bytes, because some file systems do not allocate space for zeros. */
function allocate(file: string, size: number): void {
  const bytes = randomBytes(Math.min(size, CHUNK))
  const handle = openSync(file, 'w', 0o600)
  try {
    for (let left = size; left > 0; ) left -= writeSync(handle, bytes, 0, Math.min(left, bytes.length))
  } catch (error) {
    rmSync(file, { force: true })
    throw error
  } finally {
    closeSync(handle)
  }
}
