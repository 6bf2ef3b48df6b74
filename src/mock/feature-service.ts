import { z } from 'zod'
import { configInvalid } from '../errors.ts'
import { warn } from './event-listeners.ts'
import type { EditOptions, FeatureEdits, LayerResults } from './features/edit-types.ts'
import {
  type FeatureQuery,
  type FoundFeature,
  findFeatures,
  readOutFields,
  toFeatureJson,
} from './features/query.ts'
import { toConfigInvalid } from './http/errors.ts'
import { check } from './schemas.ts'
import type { Mock } from './service.ts'
import type { Attempt } from './state/records.ts'
import type { Service, ServiceReference } from './state/services.ts'
import { ANYONE } from './state/webhooks.ts'

/** Edits and reads the features of one feature service, as its HTTP operations do. */
export interface FeatureService {
  /**
   * Applies edits as one request, and delivers their events to the webhooks of the service.
   *
   * @returns the results of all rows, at once: a failed row does not throw
   * @throws {WebhookError} `config_invalid` for an unknown layer, an invalid option, or more than 2,000 rows
   */
  applyEdits(edits: FeatureEdits | readonly FeatureEdits[], options?: EditOptions): AppliedEdits
  /**
   * Finds features, in the order in which they were added. The result is a copy.
   *
   * @throws {WebhookError} `config_invalid` for an unknown layer or field, or an invalid condition
   */
  query(query?: FeatureQuery): FoundFeature[]
}

/** What {@link FeatureService.applyEdits} returns. */
export interface AppliedEdits {
  /** The results of each entry, in the order of the edits. */
  layers: LayerResults[]
  /** All attempts of the deliveries, once the last has ended; none if nothing changed. */
  attempts: Promise<Attempt[]>
}

const list = z.array(z.unknown()).optional()
const layerId = z.int().min(0).optional()
const lists = z.strictObject({ adds: list, updates: list, deletes: list })
const editsSchema = lists.extend({ layerId, attachments: lists.optional() })
const optionsSchema = z.strictObject({
  username: z.string().min(1).max(256).optional(),
  rollbackOnFailure: z.boolean().optional(),
  useGlobalIds: z.boolean().optional(),
})
const querySchema = z.strictObject({
  layerId,
  where: z.string().optional(),
  objectIds: z.array(z.int()).optional(),
  outFields: z.string().optional(),
  orderByFields: z.string().optional(),
})

/** @throws {WebhookError} `config_invalid` if there is no such feature service */
export function createFeatureService(mock: Mock, reference: string | ServiceReference): FeatureService {
  const service = resolve(mock, reference)

  return {
    applyEdits(edits, options = {}) {
      const { username = ANYONE, ...modes } = check<EditOptions>(optionsSchema, options, 'options')
      const entries: readonly FeatureEdits[] = Array.isArray(edits) ? [...edits] : [edits as FeatureEdits]
      const layers = entries.map((entry, index) => check<FeatureEdits>(editsSchema, entry, `edits.${index}`))
      const context = { username, now: mock.options.clock.now(), rollbackOnFailure: true, ...modes }
      // A copy, so that later changes of the caller do not change the features.
      const results = mock.state.features.of(service).apply(structuredClone(layers), context)
      if (results.events.length > 0) mock.save().catch(warn)
      const attempts = mock.deliverEvents(service, results.events)
      attempts.catch(warn) // the caller need not await it
      return { layers: results.layers, attempts }
    },
    query(query = {}) {
      const { layerId = 0, outFields, ...selection } = check<FeatureQuery>(querySchema, query, 'query')
      const layer = mock.state.features.of(service).layers.get(layerId)
      if (!layer) throw configInvalid(`${service.serviceName} has no layer ${layerId}`)
      try {
        const names = readOutFields(layer, outFields)
        const found = findFeatures(layer, selection)
        return structuredClone(found.map((feature) => toFeatureJson(feature, names)))
      } catch (error) {
        throw toConfigInvalid(error)
      }
    },
  }
}

function resolve({ state }: Mock, reference: string | ServiceReference): Service {
  const name = typeof reference === 'string' ? { serviceName: reference } : reference
  if (typeof name?.serviceName !== 'string')
    throw configInvalid('features(name): the name of a service is missing')
  if (name.serviceType === 'GPServer') throw configInvalid(`${name.serviceName} is not a feature service`)
  return state.services.resolve({ ...name, serviceType: 'FeatureServer' })
}
