import { requireDetails } from './payloads/check-details.ts'
import type { Dialect, PayloadDetails, PayloadEvents } from './payloads/details.ts'
import { toEvents } from './payloads/events.ts'
import { writeHosted } from './payloads/hosted.ts'
import { writeOrganization } from './payloads/organization.ts'
import { writeService } from './payloads/service.ts'

export type { PayloadDetails } from './payloads/details.ts'

/** The type of a payload in each dialect. */
export interface Payloads {
  service: Record<string, unknown>
  hosted: Record<string, unknown>[]
  organization: Record<string, unknown>
}

const WRITERS: { [D in Dialect]: (...args: Parameters<typeof writeService>) => Payloads[D] } = {
  service: writeService,
  hosted: writeHosted,
  organization: writeOrganization,
}

/**
 * Creates a payload like those that services send, with the members in the same order (docs/senders.md, "Payloads").
 *
 * @param changeTypes the events: a change type, an event with its own time, or a non-empty list of these
 * @param details the webhook, the service and the dialect of the payload; all members have defaults
 * @returns an object or, in the hosted dialect, an array with one item per layer
 * @throws {WebhookError} `config_invalid` for an empty list of events or an invalid detail
 * @example
 * ```ts
 * import { createPayload } from 'geohook/testing'
 *
 * createPayload('FeaturesCreated', { serviceName: 'Parcels' })
 * createPayload('esriJobSucceeded', { serviceName: 'Analysis', jobId: 'j1' })
 * createPayload(['FeaturesCreated', { changeType: 'FeaturesDeleted', when: 1730385704000 }])
 * createPayload('FeaturesCreated', { dialect: 'hosted', layerIds: [0, 1] })
 * createPayload('add', { dialect: 'organization' })
 * ```
 */
export function createPayload<D extends Dialect = 'service'>(
  changeTypes: PayloadEvents,
  details: PayloadDetails<D> = {},
): Payloads[D] {
  requireDetails(details)
  const events = toEvents(changeTypes, details.when ?? Date.now())
  const dialect: Dialect = details.dialect ?? 'service'
  return WRITERS[dialect](events, details) as Payloads[D]
}
