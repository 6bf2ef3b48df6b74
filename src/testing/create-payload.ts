import { requireDetails } from './payloads/check-details.ts'
import type { Dialect, PayloadDetails, PayloadEvents } from './payloads/details.ts'
import { toEvents } from './payloads/events.ts'
import { writeHosted } from './payloads/hosted.ts'
import { writeOrganization } from './payloads/organization.ts'
import { writeService } from './payloads/service.ts'

export type { PayloadDetails } from './payloads/details.ts'

/** What a payload of each dialect is. */
export interface Payloads {
  service: Record<string, unknown>
  hosted: Record<string, unknown>[]
  organization: Record<string, unknown>
}

const WRITERS: { [D in Dialect]: (...event: Parameters<typeof writeService>) => Payloads[D] } = {
  service: writeService,
  hosted: writeHosted,
  organization: writeOrganization,
}

/**
 * A payload as a service sends it, member by member in the sender's order (field facts, "Payloads").
 *
 * @param changeTypes what happened: a change type, an event with its own time, or a list of both, which is not empty
 * @param details whose webhook it is and in which dialect it is written; everything has a default
 * @returns an object; in the hosted dialect an array with one item for each layer
 * @throws {WebhookError} `config_invalid` for no events, and for every detail that cannot be right
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
