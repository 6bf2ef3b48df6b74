import { createReadStream } from 'node:fs'
import { type CliError, usageError } from './exit.ts'

/** No webhook is so large; a wrong name (a disk, `/dev/zero`) ends here instead of filling the memory. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * The bytes of a file, or of the standard input where the name is `-`.
 *
 * @throws {CliError} exit code 2
 */
export async function readInput(name: string): Promise<Buffer> {
  const stream = name === '-' ? process.stdin : createReadStream(name)
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length > MAX_BYTES) break
    }
  } catch (error) {
    throw unreadable(name, error)
  }
  if (length > MAX_BYTES) throw usageError(`${name} is larger than 64 MiB`, 'Give the body of one delivery.')
  return Buffer.concat(chunks)
}

/** @throws {CliError} exit code 2, also for bytes that are not UTF-8 */
export async function readText(name: string): Promise<string> {
  const bytes = await readInput(name)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw usageError(`${name} is not text in UTF-8`)
  }
}

/** @throws {CliError} exit code 2, which names the file and where the JSON is wrong, but quotes nothing of it */
export async function readJson(name: string): Promise<unknown> {
  const text = await readText(name)
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

/** The error for a file that cannot be read. */
export function unreadable(name: string, error: unknown): CliError {
  const { code = '', message } = error as NodeJS.ErrnoException
  return usageError(`cannot read ${name}: ${REASONS[code] ?? message}`)
}
