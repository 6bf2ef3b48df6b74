import { type OptionNames, wholeNumber } from '../options.ts'

/** Options of every row store. */
export interface RowsOptions {
  /**
   * Maximum number of rows, from 1. Above this number, the rows that were written the longest time ago are removed.
   * Default 1,000,000.
   */
  maxRows?: number | undefined
}

export const ROWS_OPTIONS: OptionNames<RowsOptions> = { maxRows: /* @__PURE__ */ wholeNumber(1) }

export const DEFAULT_MAX_ROWS = 1_000_000

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

/** A row as SQLite and PostgreSQL return it. */
export interface SelectedRow {
  key: string
  objectId: string | null
  generation: number
  value: string | null
}

export const toKnownRow = ({ key, objectId, generation, value }: SelectedRow): KnownRow => ({
  key,
  objectId: objectId ?? undefined,
  generation,
  value: value ?? undefined,
})
