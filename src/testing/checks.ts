import { configInvalid } from '../errors.ts'

// Each check for an option or payload detail returns a valid value unchanged. For any other value, it throws an error
// that names the option.

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

/** Largest time of a Date, in milliseconds before or after 1970 (ECMA-262, "Time Values and Time Range"). */
const MAX_TIME = 8.64e15

/**
 * Accepts integers in the range of Date.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireTime(option: string, value: unknown): number {
  if (Number.isInteger(value) && Math.abs(value as number) <= MAX_TIME) return value as number
  throw configInvalid(`${option} must be a whole number of milliseconds since 1970, in the range of Date`)
}

const isWholeNumber = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

/**
 * Accepts non-empty arrays of whole numbers from 0.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireWholeNumbers(option: string, value: unknown): readonly number[] {
  if (Array.isArray(value) && value.length > 0 && value.every(isWholeNumber)) return value
  throw configInvalid(`${option} must be a non-empty array of whole numbers, each 0 or greater`)
}

/**
 * Accepts base URLs, to which a path can be appended.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireBaseUrl(option: string, value: unknown): string {
  if (typeof value === 'string' && /^https?:\/\/[^\s?#]+$/i.test(value) && URL.canParse(value)) return value
  throw configInvalid(`${option} must be an http or https URL without a query or fragment`)
}
