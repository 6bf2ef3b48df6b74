import type { ScheduleInfo, Webhook } from '../webhook.ts'
import { type Parameters, single } from './form.ts'
import { AdminError, quote } from './formats.ts'

const STATES = ['enabled', 'disabled']
const FREQUENCIES = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year']

/**
 * Reads `scheduleInfo`: a JSON object with all members or some (field facts, "Admin operations"). A geoprocessing
 * webhook has no schedule; only the empty object of its own response may be sent back for it.
 *
 * @throws {AdminError} 400
 */
export function readSchedule(
  parameters: Parameters,
  name: string,
  serviceType: Webhook['serviceType'],
): Partial<ScheduleInfo> | undefined {
  const value = single(parameters, name)
  if (value === undefined) return undefined
  const schedule = parseObject(value)
  if (!schedule) throw new AdminError(400, `${name} must be a JSON object`)
  const members = Object.entries(schedule)
  if (serviceType === 'GPServer' && members.length > 0) {
    throw new AdminError(400, `${name} is for feature service webhooks only`)
  }
  for (const [member, memberValue] of members) {
    const holds = MEMBERS.get(member)
    if (!holds) throw new AdminError(400, `${name} has no member ${quote(member)}`)
    if (!holds(memberValue)) throw new AdminError(400, `${name}.${member} has a wrong value`)
  }
  return inOrder(schedule)
}

/** With the recurrence in the specification's order; the store keeps the order of the other members. */
function inOrder({ recurrenceInfo, ...others }: Partial<ScheduleInfo>): Partial<ScheduleInfo> {
  if (!recurrenceInfo) return others
  const { interval, frequency } = recurrenceInfo
  return { ...others, recurrenceInfo: { interval, frequency } }
}

const MEMBERS = new Map<string, (value: unknown) => boolean>([
  ['name', (value) => typeof value === 'string' && value.length <= 256],
  ['state', (value) => STATES.includes(value as string)],
  ['startAt', (value) => Number.isSafeInteger(value) && (value as number) >= 0],
  ['recurrenceInfo', isRecurrence],
])

function isRecurrence(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { interval, frequency } = value as Record<string, unknown>
  const wholeInterval = Number.isSafeInteger(interval) && (interval as number) >= 1
  return Object.keys(value).length === 2 && wholeInterval && FREQUENCIES.includes(frequency as string)
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
