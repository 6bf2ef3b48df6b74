import { parse } from '../../payload/parse.ts'
import { containsKey, isShown } from '../names.ts'
import type { Finding } from '../types.ts'
import { findReason, type Reason, type Refused } from './refused.ts'

interface Age {
  /** Time of the newest event in milliseconds since 1970; -Infinity without one. */
  newest: number
  now: number
  maxAge: number
  /** What the header date says, in milliseconds since 1970. NaN without a valid one. */
  sent: number
}

const isFresh = (time: number, { now, maxAge }: Age): boolean => Math.abs(now - time) <= maxAge

const UNITS = [
  [1000, 'seconds'],
  [1 / 1000, 'microseconds'],
] as const

const AGE_REASONS: readonly Reason<Age>[] = [
  ['delivery_untimed', ({ newest }) => newest === -Infinity && 'No event has a valid time.'],
  [
    'delivery_time_unit',
    (age) => {
      const unit = UNITS.find(([factor]) => isFresh(age.newest * factor, age))
      return unit && `The time of the newest event is right if it is read as ${unit[1]} since 1970.`
    },
  ],
  [
    'delivery_clock',
    // A date in the past may also be that of a request that was delayed or replayed.
    (age) =>
      age.sent - age.now > age.maxAge &&
      Math.abs(age.sent - age.newest) <= age.maxAge &&
      `According to the header date, the clock of the sender is ${inWords(age.sent - age.now)} ahead of that of the receiver.`,
  ],
  [
    'delivery_in_future',
    ({ newest, now, maxAge }) =>
      newest > now &&
      `The newest event is ${inWords(newest - now)} in the future; maxAge is ${inWords(maxAge)}.`,
  ],
  [
    'delivery_too_old',
    ({ newest, now, maxAge }) =>
      `The newest event is ${inWords(now - newest)} old; maxAge is ${inWords(maxAge)}.`,
  ],
]

const PERIODS = [
  [86_400_000 * 365, 'year'],
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
  [1, 'millisecond'],
] as const

/** Writes a duration in its two largest units, for example `2 hours 5 minutes`. */
function inWords(milliseconds: number): string {
  let left = Math.abs(Math.round(milliseconds))
  const words: string[] = []
  for (const [size, name] of PERIODS) {
    const count = Math.floor(left / size)
    if (count > 0) words.push(`${count} ${name}${count === 1 ? '' : 's'}`)
    else if (words.length > 0) break
    left -= count * size
    if (words.length === 2) break
  }
  return words.join(' ') || '0 milliseconds'
}

/** Explains why a delivery is stale. */
export function explainAge({ body, headers, field, maxAge, now }: Refused): Finding | undefined {
  if (maxAge === undefined) return undefined
  const { events } = parse(body, headers.get('content-type'), field)
  const newest = events.reduce((time, { when }) => Math.max(time, when?.getTime() ?? time), -Infinity)
  return findReason(AGE_REASONS, { newest, now, maxAge, sent: Date.parse(headers.get('date') ?? '') })
}

type PathItem = string | number | symbol | { readonly key?: unknown }

/** Names the first issue of a schema. Its message is the schema's own text, as in the receiver's error. */
export function explainIssues({ cause, message, keys }: Refused): Finding {
  const issues = (Array.isArray(cause) ? cause : []) as { path?: readonly PathItem[] }[]
  const path = pathOf(issues[0]?.path ?? [], keys)
  const count = issues.length === 1 ? 'an issue' : `${issues.length} issues, the first`
  const where = path === '' ? '' : ` at ${path}`
  const text = printable(message)
  const shown = containsKey(text, keys) ? '' : `: ${text}`
  const evidence = `The schema reports ${count}${where}${shown}.`
  return { cause: 'payload_invalid', evidence }
}

/** Writes a path like `events[0].when`. Leaves out names that a sender may have chosen to fake other text. */
const pathOf = (path: readonly PathItem[], keys: readonly Uint8Array[]): string =>
  path
    .slice(0, 20)
    .map((item) => {
      const key = typeof item === 'object' ? item.key : item
      if (typeof key === 'number' || /^\d{1,9}$/.test(String(key))) return `[${String(key)}]`
      return typeof key === 'string' && !key.includes('.') && isShown(key, keys) ? `.${key}` : '.…'
    })
    .join('')
    .replace(/^\./, '')

/** Limits a text and replaces characters that could fake another line. */
const printable = (text: string): string =>
  text
    .slice(0, 200)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .trim()
    .replace(/\.$/, '')
