import type { Parameters } from '../form-fields.ts'
import type { ParameterDescription } from '../operation.ts'
import { readEach, wholeNumber } from '../parameter-values.ts'

/** The members of a list that tell a client where it is. */
export interface Page {
  total: number
  /** Position of the first entry, from 1. */
  start: number
  num: number
  /** `start` of the next page; -1 on the last. */
  nextStart: number
}

const DEFAULT_NUM = 25
const MAX_NUM = 100
const MAX_START = 100_000_000

export const PAGING: readonly ParameterDescription[] = [
  {
    name: 'start',
    required: false,
    description: 'Position of the first entry, from 1.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_START },
  },
  {
    name: 'num',
    required: false,
    description: 'Maximum number of entries.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_NUM },
  },
]

/** @throws {AdminError} 400 */
export function pageOf<T>(entries: readonly T[], parameters: Parameters): { page: Page; entries: T[] } {
  const { start = 1, num = DEFAULT_NUM } = readEach([
    ['start', () => wholeNumber(1, MAX_START)(parameters, 'start')],
    ['num', () => wholeNumber(1, MAX_NUM)(parameters, 'num')],
  ]) as { start?: number; num?: number }
  const end = start - 1 + num
  const nextStart = end < entries.length ? end + 1 : -1
  return { page: { total: entries.length, start, num, nextStart }, entries: entries.slice(start - 1, end) }
}
