import { randomUUID } from 'node:crypto'
import { link, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CliError, usageError } from '../errors.ts'
import { unreadable } from '../io/files.ts'
import { readJson } from '../io/json.ts'
import type { Io } from '../terminal/io.ts'
import { type Capture, parseCapture, toCaptureJson } from './capture.ts'

/** Maximum file size in bytes: enough for a 64 MiB body in base64 plus the other members. */
const MAX_BYTES = 100 * 1024 * 1024

/** A capture with the path of its file. */
export interface CaptureFile extends Capture {
  file: string
}

/**
 * Creates the folder for captures if it is missing. Does not create its parents, because Node's recursive `mkdir`
 * never returns for a path in `/proc`.
 *
 * @throws {CliError} exit code 2
 */
export async function requireFolder(path: string): Promise<void> {
  const invalid = (why: string): CliError =>
    usageError(`cannot save in ${path}: ${why}`, 'Give another folder.')
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw invalid('its parent folder does not exist')
    if (code !== 'EEXIST') throw invalid(code ?? message)
    if (!(await stat(path)).isDirectory()) throw invalid('it is a file')
  }
}

/** Returns the path for a new capture. File names sort by time of arrival. */
export const toCaptureFile = (folder: string, { receivedAt }: Capture, label: string): string =>
  join(folder, `${receivedAt.replaceAll(':', '-')}-${label}.json`)

/**
 * Writes a capture file that only its owner can read, because a payload can be confidential.
 *
 * @throws EEXIST if the file exists already
 */
export async function saveCapture(file: string, capture: Capture): Promise<void> {
  // Writes to a .part file first: if the disk is full, an incomplete .json file would make the whole folder unreadable.
  const part = `${file}.${randomUUID()}.part`
  try {
    await writeFile(part, `${JSON.stringify(toCaptureJson(capture), null, 2)}\n`, { flag: 'wx', mode: 0o600 })
    await link(part, file)
  } finally {
    await rm(part, { force: true })
  }
}

/**
 * Reads captures from files and folders. In a folder, it reads all `.json` files, sorted by name.
 *
 * @throws {CliError} exit code 2; the message names the file and the invalid member
 */
export async function readCaptures(io: Io, paths: readonly string[]): Promise<CaptureFile[]> {
  const files = (await Promise.all(paths.map(filesIn))).flat()
  const captures: CaptureFile[] = []
  for (const file of files)
    captures.push({ file, ...parseCapture(await readJson(io, file, MAX_BYTES), file) })
  return captures
}

async function filesIn(path: string): Promise<string[]> {
  if (path === '-') return [path]
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const names = (await readdir(path)).filter((name) => name.endsWith('.json')).sort()
    if (names.length > 0) return names.map((name) => join(path, name))
  } catch (error) {
    throw unreadable(path, error)
  }
  throw usageError(
    `${path} contains no captures`,
    'Captures end in .json; "geohook listen --save" writes them.',
  )
}
