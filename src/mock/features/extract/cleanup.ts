import { z } from 'zod'
import { CHANGE_METHODS } from '../../admin/operation.ts'
import { AdminError } from '../../http/errors.ts'
import { check } from '../../schemas.ts'
import type { FeatureData } from '../feature-data.ts'
import { type FeatureOperation, optional } from '../operation.ts'
import { type Fields, toFields } from './fields.ts'
import { readLayers } from './windows.ts'

const SECONDS = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 } as const
type Unit = keyof typeof SECONDS

/** `cleanupChangeTracking`: drops old changes, so that windows which contain them cannot be extracted any more. */
export const CLEANUP: FeatureOperation = {
  name: 'cleanupChangeTracking',
  area: 'admin',
  path: 'cleanupChangeTracking',
  summary: 'Drop the changes up to a generation, or older than a period.',
  methods: CHANGE_METHODS,
  parameters: [
    optional('layers', 'Ids of all layers. Default: all.'),
    optional('minServerGen', 'The changes up to this generation are dropped.', { type: 'integer' }),
    optional('retentionPeriod', 'The changes that are older are dropped.', { type: 'integer', minimum: 0 }),
    optional('retentionPeriodUnits', 'Units of the period. Default days.', {
      type: 'string',
      enum: Object.keys(SECONDS),
    }),
  ],
  response: { type: 'object', properties: { success: { const: true } }, required: ['success'] },
  run({ data, parameters, context }) {
    const fields = toFields(parameters)
    refuseUnsupported(fields, data)
    const generation = readGeneration(fields, data, context.options.clock.now())
    data.cleanup(generation)
    return { body: { success: true }, changed: true }
  },
}

/** @throws {AdminError} 400 */
function refuseUnsupported(fields: Fields, data: FeatureData): void {
  const layers = readLayers(fields, data)
  if (layers && layers.length < data.layers.size)
    throw new AdminError(
      400,
      'layers: the mock keeps one history for all layers, so name all of them or none',
    )
  if (fields.text('replicaId') !== undefined) throw new AdminError(400, 'replicaId: the mock has no replicas')
  if (fields.flag('async')) throw new AdminError(400, 'async: the mock answers this operation at once')
}

/** The last generation to drop: the later one, if both parameters are given. @throws {AdminError} 400 */
function readGeneration(fields: Fields, data: FeatureData, now: number): number {
  const minServerGen = fields.json('minServerGen')
  const retentionPeriod = fields.json('retentionPeriod')
  if (minServerGen === undefined && retentionPeriod === undefined)
    throw new AdminError(400, 'minServerGen or retentionPeriod is required')
  const generation = minServerGen === undefined ? 0 : check<number>(z.int(), minServerGen, 'minServerGen')
  if (retentionPeriod === undefined) return generation
  const period = check<number>(z.int().min(0).max(1_000_000_000), retentionPeriod, 'retentionPeriod')
  const unit = (fields.text('retentionPeriodUnits') ?? 'days').toLowerCase()
  if (!Object.hasOwn(SECONDS, unit))
    throw new AdminError(400, `retentionPeriodUnits must be one of ${Object.keys(SECONDS).join(', ')}`)
  const oldest = now - period * SECONDS[unit as Unit] * 1000
  const expired = data
    .changes({ min: data.minGeneration, max: data.generation })
    .findLast(({ when }) => when < oldest)
  return Math.max(generation, expired?.generation ?? 0)
}
