import { z } from 'zod'
import { AdminError } from '../../http/errors.ts'
import { check } from '../../schemas.ts'
import type { Layer } from '../model.ts'
import type { Fields } from './fields.ts'

/** The data that a request is checked against. */
export interface ExtractTarget {
  layers: ReadonlyMap<number, Layer>
  generation: number
  minGeneration: number
}

/** The generations of a layer that a request asks for: those after `min`, up to and including `max`. */
export interface LayerWindow {
  id: number
  min: number
  /** At most the current generation of the service. */
  max: number
}

const generation = z.int()
const layerServerGensSchema = z
  .array(z.object({ id: z.int().min(0), serverGen: generation }))
  .min(1)
  .max(100)
const serverGensSchema = z.union([generation, z.tuple([generation]), z.tuple([generation, generation])])
const layersSchema = z.array(z.int().min(0)).min(1).max(100)

/**
 * Reads `layers` with `layerServerGens` or `serverGens`.
 *
 * @param hasServerGens false for a version that ignores `serverGens`
 * @throws {AdminError} 400 if they are missing, invalid, or name a window that is no longer kept
 */
export function readWindows(fields: Fields, target: ExtractTarget, hasServerGens: boolean): LayerWindow[] {
  const layers = readLayers(fields, target)
  const layerServerGens = fields.json('layerServerGens')
  const serverGens = hasServerGens ? fields.json('serverGens') : undefined
  if (layerServerGens !== undefined && serverGens !== undefined)
    throw new AdminError(400, 'give either layerServerGens or serverGens')
  if (layerServerGens === undefined && serverGens === undefined)
    throw new AdminError(
      400,
      hasServerGens ? 'layerServerGens or serverGens is required' : 'layerServerGens is required',
    )
  const windows =
    layerServerGens === undefined
      ? fromServerGens(serverGens, layers ?? [...target.layers.keys()], target)
      : fromLayerServerGens(layerServerGens, layers, target)
  const oldest = Math.min(...windows.map(({ min }) => min))
  if (oldest < target.minGeneration) throw purgedError(target.minGeneration)
  return windows
}

/** The error for a window that begins before the oldest change that is kept. */
export const purgedError = (minGeneration: number): AdminError =>
  new AdminError(
    400,
    'The changes of these generations are no longer kept: they begin before minServerGen. Query all features, then extract the changes after the current serverGen.',
    `minServerGen: ${minGeneration}`,
  )

/** @throws {AdminError} 400 */
export function readLayers(fields: Fields, target: Pick<ExtractTarget, 'layers'>): number[] | undefined {
  const text = fields.text('layers')?.trim()
  if (text === undefined) return undefined
  const list = text.startsWith('[') ? fields.json('layers') : text.split(',').map(toNumber)
  const layers = [...new Set(check<number[]>(layersSchema, list, 'layers'))]
  requireLayers(layers, target)
  return layers
}

const toNumber = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text))

/** @throws {AdminError} 400 */
function fromServerGens(
  value: unknown,
  layers: readonly number[],
  { generation }: ExtractTarget,
): LayerWindow[] {
  const gens = check<number | number[]>(serverGensSchema, value, 'serverGens')
  const [min = 0, max = generation] = typeof gens === 'number' ? [gens] : gens
  if (Array.isArray(gens) && gens.length === 2 && min > max)
    throw new AdminError(400, 'serverGens: the first generation is after the last')
  return layers.map((id) => ({ id, min, max: Math.min(max, generation) }))
}

/** @throws {AdminError} 400 */
function fromLayerServerGens(
  value: unknown,
  layers: readonly number[] | undefined,
  target: ExtractTarget,
): LayerWindow[] {
  const gens = check<{ id: number; serverGen: number }[]>(layerServerGensSchema, value, 'layerServerGens')
  const ids = new Set(gens.map(({ id }) => id))
  requireLayers([...ids], target)
  // Live services refuse the whole request then (docs/decisions.md).
  if (
    ids.size !== gens.length ||
    (layers && (layers.length !== ids.size || !layers.every((id) => ids.has(id))))
  )
    throw new AdminError(
      400,
      'Invalid Sync model type.',
      'layers and layerServerGens must name the same layers',
    )
  return gens.map(({ id, serverGen }) => ({ id, min: serverGen, max: target.generation }))
}

/** @throws {AdminError} 400 */
function requireLayers(ids: readonly number[], { layers }: Pick<ExtractTarget, 'layers'>): void {
  const unknown = ids.find((id) => !layers.has(id))
  if (unknown !== undefined) throw new AdminError(400, `the service has no layer ${unknown}`)
}
