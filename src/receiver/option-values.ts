import { configInvalid } from '../errors.ts'

/** @throws {WebhookError} `config_invalid` */
export function readSize(option: string, size: number | string, min = 1): number {
  const [, digits, unit = ''] = /^(\d+) ?([kmg]?)b$/i.exec(String(size)) ?? []
  // The index of the unit letter is the power of 1024; without a letter it is 0.
  const power = ' kmg'.indexOf(unit.toLowerCase())
  const bytes = typeof size === 'number' ? size : Number(digits) * 1024 ** power
  if (Number.isSafeInteger(bytes) && bytes >= min) return bytes
  throw configInvalid(`${option} must be a number of bytes, or a string such as '1mb'; at least ${min} bytes`)
}

/** @throws {WebhookError} `config_invalid` */
export function readMaxAge(maxAge: number): number {
  if (Number.isSafeInteger(maxAge) && maxAge >= 1) return maxAge
  throw configInvalid('maxAge must be an integer number of milliseconds, at least 1')
}

/** @throws {WebhookError} `config_invalid` */
export function readMilliseconds(name: string, value: number): number {
  // Timers with a longer delay would fire immediately.
  if (Number.isInteger(value) && value >= 1 && value <= 2 ** 31 - 1) return value
  throw configInvalid(`${name} must be an integer number of milliseconds from 1 to 2^31 - 1`)
}
