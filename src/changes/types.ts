import type { WebhookEvent } from '../payload/events.ts'
import type { Delivery } from '../receiver/types.ts'

/** A geometry as the service sends it: `{x, y}`, `{points}`, `{paths}`, `{rings}` or an envelope. */
export type Geometry = Readonly<Record<string, unknown>>

/** A feature as the service sends it. Dates are milliseconds since 1970. */
export interface Feature<Attributes extends object = Record<string, unknown>> {
  attributes: Attributes
  /** Absent for rows of tables and features without a geometry. */
  geometry?: Geometry
}

/** An attachment that was added or updated. */
export interface Attachment {
  attachmentId: number
  globalId: string
  /** The global id of the feature. */
  parentGlobalId: string
  name: string
  contentType: string
  /** Size in bytes. */
  size: number
  /** URL of the bytes. Absent if the service sent them in `data`. */
  url?: string
  /** The bytes in base64, if the service sent them. */
  data?: string
}

/** The changes of one layer. A feature can be in `adds` and `updates`. */
export interface LayerChanges<Attributes extends object = Record<string, unknown>> {
  /** URL of the feature service. */
  service: string
  /** The layer's id. */
  id: number
  adds: Feature<Attributes>[]
  /** Current state of the features that were updated. */
  updates: Feature<Attributes>[]
  deletes: {
    /** Global ids or, from some services, object ids, as text. */
    ids: string[]
    /** Last rows of the deleted features, with the option `deletedFeatures`. */
    features?: Feature<Attributes>[]
  }
  attachments: {
    adds: Attachment[]
    updates: Attachment[]
    /** Global ids of attachments. */
    deleteIds: string[]
  }
  /**
   * Object ids from old services (version 10.6.1), which return only these. `adds` and `updates` are then empty, and
   * `deletes.ids` contains object ids.
   */
  objectIds?: { adds: (number | string)[]; updates: (number | string)[] }
  /** Object ids of features in which a field of the option `fieldsToCompare` was updated. */
  fieldUpdates?: (number | string)[]
  /** Whether an update changed a geometry, with the option `geometryUpdates`. */
  hasGeometryUpdates?: boolean
}

/** The changes behind an event or a delivery. */
export interface Changes<Attributes extends object = Record<string, unknown>> {
  /** One entry for each layer that the service returned. */
  layers: LayerChanges<Attributes>[]
  /** The generations at which the next windows of the layers begin, as the service returned them. */
  layerServerGens: { service: string; id: number; serverGen: number }[]
}

/** The events whose changes to extract. Events of the same service share one extraction, which covers all windows. */
export type ChangesSource = WebhookEvent | Delivery | readonly WebhookEvent[]

/** The second argument of `of`: the third argument of a handler, or only a signal. */
export interface ChangesContext {
  /** Aborts the call, including its requests and pauses. */
  signal?: AbortSignal | undefined
  /** Runs a function once the handlers have succeeded. */
  onSuccess?: ((run: () => unknown) => void) | undefined
}

/**
 * A step of an extraction: `submit` requests the changes, `poll` the state of a job, `fetch` its result file, and
 * `describe` the current generations of a service. A query has `describe`, which requests the descriptions of layers,
 * and `query`, which requests a page or the attachments of a feature.
 */
export type StepName = 'submit' | 'poll' | 'fetch' | 'describe' | 'query'

/** The result of a step. */
export interface StepResult {
  /** Number of HTTP requests, without redirects. */
  requests: number
  /** State of the job, after `poll`. */
  state?: string
  /** The error if the step failed. */
  error?: unknown
}

/** One step of an extraction or query, including the retries of its request. */
export interface Step {
  step: StepName
  /** URL of the feature service. */
  service: string
  /** Runs the step. Resolves when it has ended, and never rejects. */
  run: () => Promise<StepResult>
}

/** Functions that are called during extractions and queries. Their return values and exceptions are ignored. */
export interface ChangesObserver {
  /**
   * Called when a step begins. If the observer calls `run` synchronously, the requests of the step are sent inside that
   * call, for example within an active span. Later calls of `run` return the same promise; if `run` is never called,
   * the step runs anyway.
   */
  around?(step: Step): unknown
}

/** Reason for copying a service: see `resync` in the options of `catchUp`. `requested` if `changes.resync` was called. */
export type ResyncReason = 'first_start' | 'purged' | 'reset' | 'requested'

/** Second argument of `copyService`. */
export interface ResyncContext {
  reason: ResyncReason
  /** Aborted when `catchUp` is closed, or by the signal passed to `changes.resync`. */
  signal: AbortSignal
}

/**
 * Copies all features of a service, for example with {@link ChangesClient.query}, and removes features that the service
 * no longer has.
 *
 * @param service URL of the feature service
 */
export type CopyService = (service: string, context: ResyncContext) => unknown
