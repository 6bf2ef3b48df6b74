import { createReadStream } from 'node:fs'
import { type CliError, usageError } from '../errors.ts'

/** No webhook is so large; a wrong name (a disk, `/dev/zero`) ends here instead of filling the memory. */
const MAX_BYTES = 64 * 1024 * 1024

/** A second reader of the standard input would get nothing, and take it for what there is. */
let isInputRead = false

/** The bytes of a file, or of the standard input where the name is `-`. @throws what Node throws, or a RangeError */
export async function readBytes(name: string, maximum: number = MAX_BYTES): Promise<Buffer> {
  if (name === '-' && isInputRead) throw new RangeError('it can be read only once')
  isInputRead ||= name === '-'
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
 * As {@link readBytes}, for what is not secret.
 *
 * @throws {CliError} exit code 2, which names the file
 */
export async function readInput(name: string, maximum?: number): Promise<Buffer> {
  try {
    return await readBytes(name, maximum)
  } catch (error) {
    throw unreadable(name, error)
  }
}

/** @throws {CliError} exit code 2, also for bytes that are not UTF-8 */
export async function readText(name: string, maximum?: number): Promise<string> {
  const bytes = await readInput(name, maximum)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw usageError(`${name} is not text in UTF-8`)
  }
}

/** @throws {CliError} exit code 2, which names the file and where the JSON is wrong, but quotes nothing of it */
export async function readJson(name: string, maximum?: number): Promise<unknown> {
  const text = await readText(name, maximum)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw usageError(`${name} is not JSON${placeOf(error, text)}`)
  }
}

/** The messages of JSON.parse quote the text, and a seed file holds keys. */
function placeOf(error: unknown, text: string): string {
  const position = /position (\d+)/.exec(String(error))?.[1]
  if (position === undefined) return ''
  const before = text.slice(0, Number(position)).split('\n')
  return `: look at line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`
}

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'it may not be read',
  EPERM: 'it may not be read',
  ENOTDIR: 'a part of its path is a file',
}

/** Why a file cannot be read, without its name. */
export function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return error.message
  const { code = 'it failed' } = error as NodeJS.ErrnoException
  return REASONS[code] ?? code
}

/** The error for a file that cannot be read. */
export const unreadable = (name: string, error: unknown): CliError =>
  usageError(`cannot read ${name}: ${reasonOf(error)}`)
