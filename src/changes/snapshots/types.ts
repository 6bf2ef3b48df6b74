import type { Changes, Feature } from '../types.ts'

/** A changed feature, before and after the change. */
export interface FeatureComparison<Attributes extends object = Record<string, unknown>> {
  /** The feature's global id without braces in lower case, or its object id if it has no global id. */
  id: string
  /** What happened to it: a feature that was added and updated is an `add`, one that was added and deleted a `delete`. */
  kind: 'add' | 'update' | 'delete'
  /**
   * The feature when it was last handled. Absent if it is not known, or did not exist. A deleted feature that is not
   * known has the state that the service sent, if the option `deletedFeatures` asked for it.
   */
  before?: Feature<Attributes>
  /** The feature now. Absent if it was deleted. */
  after?: Feature<Attributes>
  /**
   * Names of the attributes that differ; a missing attribute is equal to null. Empty if the change was handled before.
   * Absent if `before` or `after` is.
   */
  changed?: string[]
  /** True if the geometry differs. Absent if `before` or `after` is. */
  moved?: boolean
}

/** The changed features of one layer. */
export interface LayerComparison<Attributes extends object = Record<string, unknown>> {
  /** URL of the feature service. */
  service: string
  /** The layer's id. */
  id: number
  features: FeatureComparison<Attributes>[]
}

/** The third argument of a handler, as far as snapshots need it. */
export interface SnapshotsContext {
  /** Ends the comparison. */
  signal?: AbortSignal | undefined
  /** Runs a function when the handlers have succeeded. */
  onSuccess: (run: () => unknown) => void
}

/** Keeps the last handled row of each feature. */
export interface Snapshots {
  /**
   * Compares changed features with their last handled rows, and stores the new rows when the handlers have succeeded. A
   * retry after a failed attempt sees the same `before` again. Features whose change a later extraction has handled are
   * left out.
   *
   * @param changes the result of `changes.of(event, context)`
   * @param context the third argument of the handler as a whole
   * @throws {WebhookError} `config_invalid`, `changes_malformed`, `changes_unavailable` if the store is unavailable; the
   * reason of the signal if it is aborted
   */
  compare<Attributes extends object>(
    changes: Changes<Attributes>,
    context: SnapshotsContext,
  ): Promise<LayerComparison<Attributes>[]>
  /**
   * Stores features that were copied, for example by a query, so that `before` is known from their first change. It
   * does not replace rows of later extractions.
   *
   * @param service URL of the feature service
   * @param layerId the layer's id
   * @param generation generation of the layer before the copy. Default 0, which replaces only rows of other copies: call
   * `forget` first to replace all
   * @throws {WebhookError} `config_invalid`, `changes_malformed`, `changes_unavailable`
   */
  fill(service: string, layerId: number, features: readonly Feature[], generation?: number): Promise<void>
  /**
   * Removes all rows of a service.
   *
   * @throws {WebhookError} `config_invalid`, `changes_unavailable`
   */
  forget(service: string): Promise<void>
}
