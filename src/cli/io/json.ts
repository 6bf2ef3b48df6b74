import { usageError } from '../errors.ts'
import type { Io } from '../terminal/io.ts'
import { readText } from './files.ts'

/**
 * Reads a JSON file. The error gives the position of invalid JSON but does not quote it, because seed files hold keys.
 *
 * @param maximum maximum size in bytes
 * @throws {CliError} exit code 2
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
export const toRecord = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
