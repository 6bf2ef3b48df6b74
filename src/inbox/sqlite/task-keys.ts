import type { TaskKey } from '../engine-port.ts'

/**
 * Condition for many rows, whose keys {@link keysOf} returns. In a savepoint, each statement takes longer than the one
 * before, so they must not be changed one by one.
 */
export const AMONG = '(seq, handler) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))'

export const keysOf = (rows: readonly TaskKey[]): string =>
  JSON.stringify(rows.map(({ seq, handler }) => [seq, handler]))
