import { createReadStream } from 'node:fs'
import { type CliError, usageError } from '../errors.ts'

/** Larger than any webhook body. Keeps a mistyped name (a disk, `/dev/zero`) from filling the memory. */
const MAX_BYTES = 64 * 1024 * 1024

/** A second read of standard input would return nothing and look like an empty file. */
let isStdinRead = false

/**
 * Reads a file, or standard input if the name is `-`.
 *
 * @param maximum largest size in bytes
 * @throws Node's error, or a RangeError
 */
export async function readBytes(name: string, maximum: number = MAX_BYTES): Promise<Buffer> {
  if (name === '-' && isStdinRead) throw new RangeError('it can be read only once')
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
 * Reads like {@link readBytes}, but its error names the file, so the name must not be secret.
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

/** Reads UTF-8 text. @throws {CliError} exit code 2, also for other encodings */
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

/** Says why a file cannot be read, without its name. */
export function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return error.message
  const { code = 'it failed' } = error as NodeJS.ErrnoException
  return REASONS[code] ?? code
}

/** The error for a file that cannot be read. */
export const unreadable = (name: string, error: unknown): CliError =>
  usageError(`cannot read ${name}: ${reasonOf(error)}`)
