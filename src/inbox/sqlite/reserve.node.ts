import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { realPath } from './real-path.node.ts'

/** Bytes of the reserve on a disk of 128 MiB or more. On a smaller one it is a sixteenth of the disk. */
const LARGEST = 8 * 1024 ** 2

const PAGE = 4_096
const CHUNK = 1024 ** 2

/**
 * A file beside the database that only occupies space. Workers have to write even if the disk is full: deleting the
 * reserve gives them the space to do so.
 */
export interface Reserve {
  /** Makes the reserve if it is missing. Throws if the disk has too little room for that and for so many bytes. */
  require(bytes: number): void
  /** True from the first refusal until the disk has clearly more room. */
  isShort(): boolean
  /** Deletes the reserve. */
  release(): void
}

export function createReserve(path: string): Reserve {
  /** What was refused last, since when nothing was accepted. */
  let refused: number | undefined

  /** What has to be freed before so many bytes are put, and what the reserve still needs. */
  function look(bytes: number): { lack: number; reserve: number; file: string } {
    const file = reserveOf(path)
    const { size, free } = measure(file)
    const reserve = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) < size ? size : 0
    // Every body is written twice: into the write-ahead log, and from there into the database.
    const needed = reserve + size / 4 + 2 * bytes + (refused === undefined ? 0 : size)
    return { lack: Math.max(0, needed - free), reserve, file }
  }

  return {
    require(bytes) {
      const { lack, reserve, file } = look(bytes)
      refused = lack > 0 ? bytes : undefined
      if (lack > 0) throw new Error(`the disk of ${path} is almost full: free at least ${lack} bytes`)
      if (reserve > 0) occupy(file, reserve)
    },
    isShort: () => refused !== undefined && look(refused).lack > 0,
    release() {
      try {
        rmSync(reserveOf(path), { force: true })
      } catch {} // the caller already has the error of the full disk
    },
  }
}

/** A symbolic link may lead to another disk: the reserve has to be on the disk of the database. */
const reserveOf = (path: string): string => `${realPath(path)}-reserve`

/** Pages in the write-ahead log after which it is moved into the database: they have to fit into half of the reserve. */
export const pagesInLog = (path: string): number => Math.min(1_000, measure(path).size / 2 / PAGE)

/** Bytes of the reserve, and bytes that are free on the disk. */
function measure(path: string): { size: number; free: number } {
  const { blocks, bavail, bsize } = statfsSync(dirname(path))
  // Some file systems, like ramfs, have no limit or do not report it.
  if (blocks === 0) return { size: LARGEST, free: Infinity }
  const size = 2 * PAGE * Math.ceil(Math.min(LARGEST, (blocks * bsize) / 16) / PAGE / 2)
  return { size, free: bavail * bsize }
}

/** Random bytes, because some file systems give zeros no space. */
function occupy(file: string, size: number): void {
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
