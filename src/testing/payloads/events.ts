import { configInvalid } from '../../errors.ts'
import { WILDCARD } from '../../payload/change-types.ts'
import { requireText, requireTime } from '../checks.ts'
import type { PayloadEvents } from './details.ts'

/** An event that is ready to be written in any dialect. */
export interface TimedEvent {
  changeType: string
  /** Milliseconds since 1970. */
  when: number
}

/**
 * Gives every event its time.
 *
 * @param when of the events that have none of their own
 * @throws {WebhookError} `config_invalid` for no events, and for a change type or a time that cannot be right
 */
export function toEvents(changeTypes: PayloadEvents, when: number): TimedEvent[] {
  const entries: readonly unknown[] = Array.isArray(changeTypes) ? changeTypes : [changeTypes]
  if (entries.length === 0) throw configInvalid('changeTypes is empty', 'A payload has at least one event.')
  return entries.map((entry) => {
    const event = typeof entry === 'object' && entry !== null ? entry : { changeType: entry }
    const { changeType, when: own = when } = event as { changeType?: unknown; when?: unknown }
    return { changeType: requireChangeType(changeType), when: requireTime('when', own) }
  })
}

function requireChangeType(changeType: unknown): string {
  const name = requireText('changeType', changeType)
  if (name.trim() !== name) throw configInvalid('changeType has white space around it')
  if (name === WILDCARD)
    throw configInvalid(
      'changeType is the wildcard',
      'Webhooks subscribe to it; an event says what happened.',
    )
  return name
}

/** The time of the newest event. */
export const newest = (events: readonly TimedEvent[]): number =>
  events.reduce((time, { when }) => Math.max(time, when), Number.NEGATIVE_INFINITY)

/** Each change type once, in order. */
export const uniqueNames = (events: readonly TimedEvent[]): string[] => [
  ...new Set(events.map(({ changeType }) => changeType)),
]

/** Whether it is the end of a job: by the service type that is given, else by the names. */
export function isJob(events: readonly TimedEvent[], serviceType: string | undefined): boolean {
  if (serviceType !== undefined) return serviceType === 'GPServer'
  return events.some(({ changeType }) => changeType.startsWith('esriJob'))
}
