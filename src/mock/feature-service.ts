import { z } from 'zod'
import { configInvalid } from '../errors.ts'
import type { Attempt } from './delivery/attempt.ts'
import { warn } from './event-listeners.ts'
import type { AttachmentEdits, LayerEdits, LayerResults } from './features/edits.ts'
import type { FeatureData } from './features/feature-data.ts'
import type { Attributes } from './features/model.ts'
import {
  type FeatureJson,
  findFeatures,
  readOutFields,
  type Selection,
  toFeatureJson,
} from './features/query.ts'
import { AdminError } from './http/errors.ts'
import { check } from './schemas.ts'
import type { Mock } from './service.ts'
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

/** The edits of one layer. */
export interface FeatureEdits {
  /** Default 0. */
  layerId?: number | undefined
  /** Features as `{ attributes, geometry }`, in Esri JSON. */
  adds?: readonly FeatureRow[] | undefined
  /** Features with their object id; attributes left out keep their values. */
  updates?: readonly FeatureRow[] | undefined
  /** Object ids or global ids. */
  deletes?: readonly (number | string)[] | undefined
  attachments?: AttachmentEdits | undefined
}

/** A feature to add, or the changes of a feature. */
export interface FeatureRow {
  attributes?: Readonly<Record<string, unknown>> | undefined
  geometry?: object | null | undefined
}

/** Options of {@link FeatureService.applyEdits}. */
export interface EditOptions {
  /** Author of the edits. Default `'admin'`. */
  username?: string | undefined
  /** Whether nothing is changed if one row fails. Default true. */
  rollbackOnFailure?: boolean | undefined
  /** Whether updates name features by their global ids, and adds bring their own. Default false. */
  useGlobalIds?: boolean | undefined
}

/** What {@link FeatureService.applyEdits} returns. */
export interface AppliedEdits {
  /** The results of each entry, in the order of the edits. */
  layers: LayerResults[]
  /** All attempts of the deliveries, once the last has ended; none if nothing changed. */
  attempts: Promise<Attempt[]>
}

/** Which features to find. All given conditions must apply. */
export interface FeatureQuery {
  /** Default 0. */
  layerId?: number | undefined
  /** For example `name = 'Oak' AND height > 10`; docs/mock.md says what is supported. Default: all features. */
  where?: string | undefined
  objectIds?: readonly number[] | undefined
  /** Names of fields, comma-separated, or `*`. Default `*`. */
  outFields?: string | undefined
  /** Names of fields, each with `ASC` or `DESC`, comma-separated. */
  orderByFields?: string | undefined
}

/** A feature in Esri JSON. */
export interface FoundFeature {
  attributes: Record<string, Attributes[string]>
  /** Absent if the feature has no geometry. */
  geometry?: object
}

const list = z.array(z.unknown()).optional()
const layerId = z.int().min(0).optional()
const attachmentLists = z.strictObject({ adds: list, updates: list, deletes: list })
const editsSchema = z.strictObject({
  layerId,
  adds: list,
  updates: list,
  deletes: list,
  attachments: attachmentLists.optional(),
})
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
  const data = (): FeatureData => mock.state.features.of(service)

  return {
    applyEdits(edits, options = {}) {
      const { username = ANYONE, ...modes } = check<EditOptions>(optionsSchema, options, 'options')
      const entries: readonly FeatureEdits[] = Array.isArray(edits) ? [...edits] : [edits as FeatureEdits]
      const layers = entries.map((entry, index): LayerEdits => {
        const { layerId = 0, ...rows } = check<FeatureEdits>(editsSchema, entry, `edits.${index}`)
        return { layerId, ...rows }
      })
      const context = { username, now: mock.options.clock.now(), rollbackOnFailure: true, ...modes }
      // A copy, so that later changes of the caller do not change the features.
      const results = data().apply(structuredClone(layers), context)
      if (results.events.length > 0) mock.save().catch(warn)
      const attempts = mock.deliverEvents(service, results.events)
      attempts.catch(warn) // the caller need not await it
      return { layers: results.layers, attempts }
    },
    query(query = {}) {
      const { layerId = 0, outFields, ...selection } = check<FeatureQuery>(querySchema, query, 'query')
      const layer = data().layers.get(layerId) ?? throwUnknown(service, layerId)
      const found = orConfigInvalid((): FeatureJson[] => {
        const names = readOutFields(layer, outFields)
        return findFeatures(layer, selection as Selection).map((feature) =>
          toFeatureJson(feature, names, true),
        )
      })
      return structuredClone(found) as FoundFeature[]
    },
  }
}

function throwUnknown({ serviceName }: Service, layerId: number): never {
  throw configInvalid(`${serviceName} has no layer ${layerId}`)
}

function resolve({ state }: Mock, reference: string | ServiceReference): Service {
  const name = typeof reference === 'string' ? { serviceName: reference } : reference
  if (typeof name?.serviceName !== 'string')
    throw configInvalid('features(name): the name of a service is missing')
  if (name.serviceType === 'GPServer') throw configInvalid(`${name.serviceName} is not a feature service`)
  return state.services.resolve({ ...name, serviceType: 'FeatureServer' })
}

function orConfigInvalid<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw error instanceof AdminError ? configInvalid(error.message) : error
  }
}
