import { isObject, type Json } from '../../shared/json.ts'
import { type CliError, usageError } from '../errors.ts'
import type { Io } from '../terminal/io.ts'

/**
 * Reads a file, or standard input if the name is `-`. Error messages contain the file name, so it must not be secret.
 */
export async function readInput(io: Io, name: string, maximum?: number): Promise<Buffer> {
  try {
    return await io.readBytes(name, maximum)
  } catch (error) {
    throw unreadable(name, error)
  }
}

/** Reads a UTF-8 file. @throws {CliError} exit code 2 if it is unreadable or not UTF-8 */
export async function readText(io: Io, name: string, maximum?: number): Promise<string> {
  const bytes = await readInput(io, name, maximum)
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

/**
 * Reads a JSON file. The error gives the position of invalid JSON but does not quote it, because seed files hold keys.
 *
 * @param maximum maximum size in bytes
 */
export async function readJson(io: Io, name: string, maximum?: number): Promise<unknown> {
  const text = await readText(io, name, maximum)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw usageError(`${name} is not JSON${positionOf(error, text)}`)
  }
}

function positionOf(error: unknown, text: string): string {
  const position = /position (\d+)/.exec(String(error))?.[1]
  if (position === undefined) return ''
  const before = text.slice(0, Number(position)).split('\n')
  return `: look at line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`
}

/** Returns the value if it is an object and not an array, otherwise undefined. */
export const toRecord = (value: unknown): Json | undefined => (isObject(value) ? value : undefined)
