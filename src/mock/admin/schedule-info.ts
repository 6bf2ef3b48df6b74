import { AdminError, quote } from '../http/errors.ts'
import { scheduleSchema } from '../schemas.ts'
import type { ScheduleInfo, Webhook } from '../state/webhook.ts'
import { type Parameters, single } from './form-fields.ts'

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
    const schema = MEMBERS.get(member)
    if (!schema) throw new AdminError(400, `${name} has no member ${quote(member)}`)
    if (!schema.safeParse(memberValue).success)
      throw new AdminError(400, `${name}.${member} has a wrong value`)
  }
  return inOrder(schedule)
}

/** The bounds of a state file: what an edit takes can be restored. */
const MEMBERS = new Map(Object.entries(scheduleSchema.shape))

/** With the recurrence in the specification's order; the store keeps the order of the other members. */
function inOrder({ recurrenceInfo, ...others }: Partial<ScheduleInfo>): Partial<ScheduleInfo> {
  if (!recurrenceInfo) return others
  const { interval, frequency } = recurrenceInfo
  return { ...others, recurrenceInfo: { interval, frequency } }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
