import { AdminError } from '../http/errors.ts'
import { HOOK_URL_RULE, isHookUrl } from '../schemas.ts'
import { type Parameters, single } from './form-fields.ts'

/** Reads one parameter; undefined where it is not given. */
export type Read<T> = (parameters: Parameters, name: string) => T | undefined

/** A text of at most so many characters, without white space around it. */
export function text(maximum: number): Read<string> {
  return (parameters, name) => {
    const value = single(parameters, name)
    if (value === undefined) return undefined
    if (value !== value.trim()) throw new AdminError(400, `${name} has white space around it`)
    if (/\p{Cc}/u.test(value)) throw new AdminError(400, `${name} holds control characters`)
    if (value.length > maximum) throw new AdminError(400, `${name} is longer than ${maximum} characters`)
    return value
  }
}

/** One of a few words, as it is or converted. */
export function oneOf(allowed: readonly string[]): Read<string>
export function oneOf<T>(allowed: readonly string[], convert: (value: string) => T): Read<T>
export function oneOf(allowed: readonly string[], convert = (value: string): unknown => value) {
  return (parameters: Parameters, name: string): unknown => {
    const value = single(parameters, name)
    if (value === undefined) return undefined
    if (!allowed.includes(value)) throw new AdminError(400, `${name} must be one of ${allowed.join(', ')}`)
    return convert(value)
  }
}

/** A whole number within bounds. */
export function wholeNumber(minimum: number, maximum: number): Read<number> {
  return (parameters, name) => {
    const value = single(parameters, name)
    if (value === undefined) return undefined
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
    if (number >= minimum && number <= maximum) return number
    throw new AdminError(400, `${name} must be a whole number from ${minimum} to ${maximum}`)
  }
}

/** An http or https URL, exactly as it is written. */
export function readUrl(parameters: Parameters, name: string): string | undefined {
  const value = single(parameters, name)
  if (value === undefined || isHookUrl(value)) return value
  throw new AdminError(400, `${name} ${HOOK_URL_RULE}`)
}

/**
 * Reads several parameters, and leaves out those that are not given.
 *
 * @throws {AdminError} 400 with a message for each that is wrong
 */
export function readEach(
  reads: Iterable<readonly [name: string, read: () => unknown]>,
): Record<string, unknown> {
  const messages: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, read] of reads) {
    try {
      const value = read()
      if (value !== undefined) values[name] = value
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      messages.push(...error.messages)
    }
  }
  if (messages.length > 0) throw new AdminError(400, ...messages)
  return values
}

/** @throws {AdminError} 400 where it is not given */
export function required<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw new AdminError(400, `${name} is required`)
  return value
}
