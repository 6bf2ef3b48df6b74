import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { realPath } from './path.node.ts'

/**
 * Size of the reserve in bytes on a disk of 128 MiB or more. On a smaller disk, the reserve takes a sixteenth of the
 * disk.
 */
const MAX_SIZE = 8 * 1024 ** 2

const PAGE = 4_096
const CHUNK = 1024 ** 2

/**
 * A file next to the database whose only purpose is to occupy space. When the disk is full, it is deleted, so that
 * workers still have space to record results.
 */
export interface DiskReserve {
  /** Creates the reserve if it is missing. Throws if the disk lacks space for the reserve and `bytes` more. */
  require(bytes: number): void
  /** True if the disk has the space that `require` needs. */
  hasSpace(bytes: number): boolean
  /**
   * True if the last `require` call threw and the disk still lacks space for the same number of bytes plus a margin.
   */
  isShort(): boolean
  /** Deletes the reserve. */
  release(): void
}

export function createDiskReserve(path: string): DiskReserve {
  /** `bytes` of the last `require` call, if that call threw. */
  let rejected: number | undefined

  /**
   * Returns `missing`, the bytes of disk space that must be freed before `bytes` more can be stored, and `reserve`, the
   * size of the reserve file to create, or 0 if the file is complete.
   */
  function measureNeed(bytes: number): { missing: number; reserve: number; file: string } {
    const file = reserveOf(path)
    const { size, free } = measureDisk(file)
    const reserve = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) < size ? size : 0
    // Every body is written twice: first to the write-ahead log, then to the database.
    const needed = reserve + size / 4 + 2 * bytes + (rejected === undefined ? 0 : size)
    return { missing: Math.max(0, needed - free), reserve, file }
  }

  const hasSpace = (bytes: number): boolean => measureNeed(bytes).missing === 0

  return {
    require(bytes) {
      const { missing, reserve, file } = measureNeed(bytes)
      rejected = missing > 0 ? bytes : undefined
      if (missing > 0) throw new Error(`the disk of ${path} is almost full: free at least ${missing} bytes`)
      if (reserve > 0) allocate(file, reserve)
    },
    hasSpace,
    isShort: () => rejected !== undefined && !hasSpace(rejected),
    release() {
      try {
        rmSync(reserveOf(path), { force: true })
      } catch {} // ignored: the caller already has the error of the full disk
    },
  }
}

/** Resolves symbolic links, because the reserve must be on the same disk as the database. */
const reserveOf = (path: string): string => `${realPath(path)}-reserve`

/**
 * Returns the number of log pages after which SQLite runs a checkpoint. At most half of the reserve's size, so that
 * deleting the reserve frees enough space for the checkpoint.
 */
export const maxLogPages = (path: string): number => Math.min(1_000, measureDisk(path).size / 2 / PAGE)

/** Returns the target size of the reserve and the free space of the disk, both in bytes. */
function measureDisk(path: string): { size: number; free: number } {
  const { blocks, bavail, bsize } = statfsSync(dirname(path))
  // Some file systems, like ramfs, have no size limit or do not report it.
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
