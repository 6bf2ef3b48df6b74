import { createReadStream } from 'node:fs'
import { type CliError, usageError } from '../errors.ts'

/**
 * Default maximum size in bytes, larger than any webhook body. Without a limit, reading `/dev/zero` or a disk by
 * mistake would exhaust the memory.
 */
const MAX_BYTES = 64 * 1024 * 1024

/** Prevents a second read of standard input, which would return no data and look like an empty file. */
let isStdinRead = false

/**
 * Reads a file, or standard input if the name is `-`.
 *
 * @param maximum maximum size in bytes
 * @throws Node's error, or a RangeError if the file is too large or standard input has already been read
 */
export async function readBytes(name: string, maximum: number = MAX_BYTES): Promise<Buffer> {
  if (name === '-' && isStdinRead) throw new RangeError('standard input can be read only once')
  isStdinRead ||= name === '-'
  const stream = name === '-' ? process.stdin : createReadStream(name)
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maximum) throw new RangeError(`it is larger than ${maximum / 1024 ** 2} MiB`)
  }
  return Buffer.concat(chunks)
}

/**
 * Like {@link readBytes}, but error messages contain the file name, so it must not be secret.
 *
 * @throws {CliError} exit code 2
 */
export async function readInput(name: string, maximum?: number): Promise<Buffer> {
  try {
    return await readBytes(name, maximum)
  } catch (error) {
    throw unreadable(name, error)
  }
}

/** Reads a UTF-8 file. @throws {CliError} exit code 2 if it is unreadable or not UTF-8 */
export async function readText(name: string, maximum?: number): Promise<string> {
  const bytes = await readInput(name, maximum)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw usageError(`${name} is not UTF-8 text`)
  }
}

const REASONS: Record<string, string> = {
  ENOENT: 'no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTDIR: 'a part of its path is a file',
}

/** Returns why a file cannot be read. The text does not contain the file name. */
export function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return error.message
  const { code = 'it failed' } = error as NodeJS.ErrnoException
  return REASONS[code] ?? code
}

export const unreadable = (name: string, error: unknown): CliError =>
  usageError(`cannot read ${name}: ${reasonOf(error)}`)
