import { configInvalid } from '../errors.ts'

/** Checks of options and details: each answers with the value, or throws `config_invalid` with the option's name. */

/** @throws {WebhookError} `config_invalid` */
export function requireOneOf<T extends string>(option: string, value: T, allowed: readonly T[]): T {
  if (allowed.includes(value)) return value
  throw configInvalid(`${option} must be one of ${allowed.join(', ')}`)
}

/** @throws {WebhookError} `config_invalid` */
export function requireText(option: string, value: unknown): string {
  if (typeof value !== 'string') throw configInvalid(`${option} must be a string`)
  if (value === '') throw configInvalid(`${option} is empty`)
  return value
}

/** Of a calendar, in either direction (ECMA-262, "Time Values and Time Range"). */
const LAST_TIME = 8.64e15

/**
 * Whole milliseconds that a calendar knows.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireTime(option: string, value: unknown): number {
  if (Number.isInteger(value) && Math.abs(value as number) <= LAST_TIME) return value as number
  throw configInvalid(`${option} must be whole milliseconds since 1970`)
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

/** @throws {WebhookError} `config_invalid` for what is no list, is empty, or holds something but 0, 1, 2, … */
export function requireCounts(option: string, value: unknown): readonly number[] {
  if (Array.isArray(value) && value.length > 0 && value.every(isCount)) return value
  throw configInvalid(`${option} must be a list of whole numbers from 0`)
}

/**
 * An address to which a path can be added.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireAddress(option: string, value: unknown): string {
  if (typeof value === 'string' && /^https?:\/\/[^\s?#]+$/i.test(value) && URL.canParse(value)) return value
  throw configInvalid(`${option} must be an http or https URL without a query`)
}
