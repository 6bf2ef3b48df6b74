/** Maximum number of keys and rows in one call of a {@link RowStore}. */
export const MAX_BATCH = 1_000

/** A layer of a feature service. */
export interface RowLayer {
  /** URL of the feature service. */
  service: string
  /** The layer's id. */
  id: number
}

/** The last known row of a feature. */
export interface NewRow {
  key: string
  /** The object id of the feature, if its key is another id. */
  objectId: string | undefined
  /** The row as JSON. `undefined` if the feature was deleted. */
  value: string | undefined
}

/** A row in the store. */
export interface KnownRow extends NewRow {
  /** The generation of the extraction that the row came from. */
  generation: number
}

/**
 * The store of the last known rows of features, for `createSnapshots` of `geohook/changes`. Created by
 * `createMemoryRows`, `createSqliteRows` and `createPostgresRows`. Each call takes at most 1,000 rows, keys and object
 * ids, and is atomic.
 */
export interface RowStore {
  /** Returns the rows that have one of these keys or object ids. */
  read(layer: RowLayer, keys: readonly string[], objectIds: readonly string[]): Promise<KnownRow[]>
  /**
   * Stores rows with different keys, except those whose stored row has a higher generation. If there are more than
   * `maxRows` rows then, removes the rows that were written the longest time ago.
   */
  write(layer: RowLayer, rows: readonly NewRow[], generation: number): Promise<void>
  /** Removes all rows of a service. */
  forget(service: string): Promise<void>
  close(): Promise<void>
}
