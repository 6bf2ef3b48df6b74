/** Maximum number of rows, keys or object ids in one call of a {@link RowStore}. */
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
  /** The id of the feature: its global id, its object id, or the value of `idField`. */
  key: string
  /** The object id of the feature. `undefined` if it is the key, or if the feature has no object id. */
  objectId: string | undefined
  /** The row as JSON. `undefined` if the feature was deleted. */
  value: string | undefined
}

/** A row in the store. */
export interface KnownRow extends NewRow {
  /** The generation of the layer at the extraction that returned the row. */
  generation: number
}

/**
 * Stores the last known rows of features, for `createSnapshots` of `geohook/changes`. Created by `createMemoryRows`,
 * `createSqliteRows` and `createPostgresRows`. `read` and `write` are atomic. A call takes at most 1,000 rows, or 1,000
 * keys and 1,000 object ids.
 */
export interface RowStore {
  /** Resolves with the rows that have one of these keys or object ids. */
  read(layer: RowLayer, keys: readonly string[], objectIds: readonly string[]): Promise<KnownRow[]>
  /**
   * Stores rows, whose keys must all differ. A stored row with a higher generation is not replaced. If the store then
   * has more than `maxRows` rows, removes those written longest ago.
   */
  write(layer: RowLayer, rows: readonly NewRow[], generation: number): Promise<void>
  /** Removes all rows of a service. */
  forget(service: string): Promise<void>
  /** Releases the connections of the store. */
  close(): Promise<void>
}
