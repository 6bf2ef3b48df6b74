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
