import type { Changes, Feature } from '../types.ts'

/** A changed feature, before and after the change. */
export interface FeatureComparison<Attributes extends object = Record<string, unknown>> {
  /** The feature's global id without braces in lower case, or its object id if it has no global id. */
  id: string
  /**
   * Kind of change: `add` for a feature that was added and then updated, or deleted and then added again with the same
   * id; `delete` if it was added and then deleted.
   */
  kind: 'add' | 'update' | 'delete'
  /**
   * The feature when it was last handled. Absent if the feature is new or not known yet. For a deleted feature that is
   * not known, the last row that the service sent, with the option `deletedFeatures` of `createChanges`.
   */
  before?: Feature<Attributes>
  /** The feature now. Absent if it was deleted. */
  after?: Feature<Attributes>
  /**
   * Names of the attributes that differ; a missing attribute equals null. Empty if the change was handled before.
   * Absent if `before` or `after` is absent.
   */
  changed?: string[]
  /** True if the geometry differs. Absent if `before` or `after` is absent. */
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

/** The members of a handler's third argument that snapshots use. */
export interface SnapshotsContext {
  /** Stops the comparison when it is aborted. */
  signal?: AbortSignal | undefined
  /** Runs a function once the handlers have succeeded. */
  onSuccess: (run: () => unknown) => void
}

/** Keeps the last handled row of each feature. */
export interface Snapshots {
  /**
   * Compares changed features with their last handled rows, and stores the new rows once the handlers have succeeded,
   * so a retry sees the same `before`. Comparisons of the same attempt also see the rows of those before them. Features
   * that a later extraction has already handled are left out.
   *
   * @param changes the result of `changes.of(event, context)`
   * @param context the handler's third argument as a whole
   * @throws {WebhookError} `config_invalid`; `changes_malformed` if a feature has no usable id; `changes_unavailable`
   * if the store is unavailable; the abort reason if the signal is aborted
   */
  compare<Attributes extends object>(
    changes: Changes<Attributes>,
    context: SnapshotsContext,
  ): Promise<LayerComparison<Attributes>[]>
  /**
   * Stores copied features, for example the results of a query, so that `before` is known from their first change. Rows
   * with a higher generation stay as they are.
   *
   * @param service URL of the feature service
   * @param layerId the layer's id
   * @param generation generation of the layer before the copy. Default 0, which replaces only rows of other copies made
   * with 0: call `forget` first to replace all rows
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
