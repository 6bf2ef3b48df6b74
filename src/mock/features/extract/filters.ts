import { z } from 'zod'
import { AdminError } from '../../http/errors.ts'
import { check } from '../../schemas.ts'
import type { Layer } from '../model.ts'
import { findFeatures } from '../query.ts'
import type { Fields } from './fields.ts'

/** Object ids of the current features of a layer that a request wants. The layer has no filter if it is undefined. */
export type Filter = ReadonlySet<number>

const MAX_QUERIES = 100
const querySchema = z.object({
  where: z.string().max(10_000).optional(),
  useGeometry: z.boolean().optional(),
  includeRelated: z.boolean().optional(),
  queryOption: z.enum(['none', 'useFilter', 'all']).optional(),
})
const queriesSchema = z.record(z.string(), z.unknown())

/**
 * Reads `layerQueries`. Deleted features have no attributes to compare, so they pass every filter.
 *
 * @throws {AdminError} 400
 */
export function readFilters(fields: Fields, layers: ReadonlyMap<number, Layer>): Map<number, Filter> {
  const filters = new Map<number, Filter>()
  const value = fields.json('layerQueries')
  if (value === undefined || value === null) return filters
  const queries = Object.entries(check<Record<string, unknown>>(queriesSchema, value, 'layerQueries'))
  if (queries.length > MAX_QUERIES)
    throw new AdminError(400, `layerQueries may have at most ${MAX_QUERIES} layers`)
  for (const [id, query] of queries) {
    const layer = /^\d{1,9}$/.test(id) ? layers.get(Number(id)) : undefined
    if (!layer) throw new AdminError(400, 'layerQueries names a layer that does not exist')
    const filter = toFilter(
      layer,
      check<z.infer<typeof querySchema>>(querySchema, query, `layerQueries.${id}`),
    )
    if (filter) filters.set(layer.id, filter)
  }
  return filters
}

/** @throws {AdminError} 400 for an invalid condition */
function toFilter(
  layer: Layer,
  { where = '', queryOption = 'useFilter' }: z.infer<typeof querySchema>,
): Filter | undefined {
  if (queryOption === 'none') return new Set()
  if (queryOption === 'all' || where.trim() === '') return undefined
  return new Set(findFeatures(layer, { where }).map(({ objectId }) => objectId))
}
