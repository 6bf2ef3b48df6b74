import { secondsOf } from '../shared/client.ts'
import { isObject } from '../shared/json.ts'
import { membersOf, relate, showValue, toComparable, toDate, type Values, valuesOf } from './members.ts'
import type { Requester } from './request.ts'
import type { ChangeResult, Difference, Member, Webhook } from './types.ts'

interface Comparison {
  adjusted: Difference[]
  different: Difference[]
  notCompared: Member[]
}

/**
 * Compares what is stored with what was wanted. Members without a wanted value can have any.
 *
 * @param old values before the change. A service that keeps them has adjusted nothing
 */
function compare(wanted: Values, after: Webhook, old: Values = {}): Comparison {
  const stored = valuesOf(after)
  const found: Comparison = { adjusted: [], different: [], notCompared: [] }
  for (const member of membersOf(after.product, after.service)) {
    const isPartial =
      member === 'schedule' && after.product === 'online' && stored.schedule?.startAt === undefined
    if (stored[member] === undefined || isPartial) found.notCompared.push(member)
    if (stored[member] !== undefined && wanted[member] !== undefined) {
      const related = relate(member, wanted[member], stored[member])
      const relation = related === 'adjusted' && isIgnored(wanted, stored, old) ? 'different' : related
      const [requested = '', shown = ''] = [wanted, stored].map((values) => showValue(member, values[member]))
      if (relation !== 'same') found[relation].push({ member, requested, stored: shown })
    }
  }
  return found
}

/** The longest minimum of an interval that is known, in seconds. */
const MINIMUM = 60

/** True if a service has kept an old time or interval. It may have raised a short one to the same minimum again. */
function isIgnored(
  { schedule: wanted }: Values,
  { schedule: stored }: Values,
  { schedule: old }: Values,
): boolean {
  if (!wanted || !stored || !old) return false
  const [seconds, before, now] = [wanted, old, stored].map(({ recurrenceInfo }) => secondsOf(recurrenceInfo))
  const { startAt = wanted.startAt } = stored
  const isStart = startAt !== (wanted.startAt ?? startAt) && old.startAt === startAt
  return isStart || (seconds !== now && before === now && Number(now) > MINIMUM)
}

/** Compares what both show: a list can show less than the webhook itself. */
export function isSame(seen: Webhook, now: Webhook): boolean {
  const { different, adjusted } = compare(valuesOf(seen), now)
  const [before, after] = [seen.modified ?? now.modified, now.modified ?? seen.modified]
  return different.length + adjusted.length === 0 && before?.getTime() === after?.getTime()
}

/** True if an edit whose response was lost was made: the service shows each of the changed members, as they were wanted. */
export function isEdited(names: readonly Member[], wanted: Values, after: Webhook): boolean {
  const stored = valuesOf(after)
  return compare(wanted, after).different.length === 0 && names.every((name) => stored[name] !== undefined)
}

/**
 * Judges a change from what was read before and after it.
 *
 * @param before undefined for a new webhook
 * @param answer of the change
 * @throws {WebhookError} `admin_not_applied`, `admin_conflict`
 */
export function toResult(
  requester: Requester,
  before: Webhook | undefined,
  wanted: Values,
  after: Webhook,
  answer?: unknown,
): ChangeResult {
  const [old, stored] = [before ? valuesOf(before) : {}, valuesOf(after)]
  const { different, adjusted, notCompared } = compare(wanted, after, old)
  const isOther = (member: Member): boolean =>
    toComparable(member, old[member]) !== toComparable(member, stored[member])
  const changed = membersOf(after.product, after.service).filter(
    (member) => stored[member] !== undefined && isOther(member),
  )
  const result = { webhook: after, changed, adjusted, notCompared }
  const names = different.map(({ member }) => member).join(', ')
  const written = isObject(answer) ? toDate(answer.modified ?? answer.lastUpdatedTime) : undefined
  // Without the time of the edit, a third value, neither the old nor the requested one, comes from another client.
  const isForeign = written
    ? after.modified !== undefined && after.modified > written
    : different.some(({ member }) => isOther(member))
  // A key that is not shown may be another one.
  if (before && isForeign && (names || after.key === undefined))
    throw requester.error(
      'admin_conflict',
      `another client changed the webhook right after this edit${names && `; not as requested: ${names}`}`,
      'Read the webhook, and edit it again if you still want to.',
      { result, different },
    )
  if (names)
    throw requester.error(
      'admin_not_applied',
      `the service did not store as requested: ${names}`,
      'The service may ignore these members, or allow other values only.',
      { result, different },
    )
  return result
}
