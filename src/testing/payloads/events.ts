import { configInvalid } from '../../errors.ts'
import { WILDCARD } from '../../payload/types.ts'
import { requireText, requireTime } from '../checks.ts'
import type { PayloadEvents } from './details.ts'

/** An event with its time, independent of the dialect. */
export interface TimedEvent {
  changeType: string
  /** Milliseconds since 1970. */
  when: number
}

/**
 * Checks the events that a caller passes, and converts them to {@link TimedEvent}.
 *
 * @param when time of all events that have no time of their own, in milliseconds since 1970
 * @throws {WebhookError} `config_invalid` for an empty list, an invalid change type or an invalid time
 */
export function toEvents(changeTypes: PayloadEvents, when: number): TimedEvent[] {
  const entries: readonly unknown[] = Array.isArray(changeTypes) ? changeTypes : [changeTypes]
  if (entries.length === 0) throw configInvalid('changeTypes is empty', 'Pass at least one event.')
  return entries.map((entry) => {
    const event = typeof entry === 'object' && entry !== null ? entry : { changeType: entry }
    const { changeType, when: eventTime = when } = event as { changeType?: unknown; when?: unknown }
    return { changeType: requireChangeType(changeType), when: requireTime('when', eventTime) }
  })
}

function requireChangeType(changeType: unknown): string {
  const name = requireText('changeType', changeType)
  if (name.trim() !== name) throw configInvalid('changeType has white space around it')
  if (name === WILDCARD)
    throw configInvalid(
      'changeType must not be the wildcard *',
      'Webhooks subscribe to the wildcard. An event names its own change type.',
    )
  return name
}

/** Returns the time of the newest event. */
export const newestTime = (events: readonly TimedEvent[]): number =>
  events.reduce((time, { when }) => Math.max(time, when), Number.NEGATIVE_INFINITY)

/** Returns the change types without duplicates, in order. */
export const uniqueNames = (events: readonly TimedEvent[]): string[] => [
  ...new Set(events.map(({ changeType }) => changeType)),
]

/**
 * Returns true if the events are results of a geoprocessing job. Decides by the service type if one is given, otherwise
 * by the change types.
 */
export function isJob(events: readonly TimedEvent[], serviceType: string | undefined): boolean {
  if (serviceType !== undefined) return serviceType === 'GPServer'
  return events.some(({ changeType }) => changeType.startsWith('esriJob'))
}
