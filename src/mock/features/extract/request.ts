import { z } from 'zod'
import { AdminError } from '../../http/errors.ts'
import type { Parameters } from '../../http/operation.ts'
import { readBoolean, single } from '../../http/request.ts'
import { check } from '../../schemas.ts'
import { findField, type Layer } from '../model.ts'
import { findFeatures } from '../query.ts'
import { extractsSince, type ResolvedExtractOptions } from './options.ts'

/** Reads the parameters of a request. Their names are compared without regard to case, as clients spell one in three ways. */
export interface Fields {
  /** The value; undefined if it is absent or empty. */
  text(name: string): string | undefined
  flag(name: string): boolean | undefined
  json(name: string): unknown
}

export function toFields(parameters: Parameters): Fields {
  const byName = new Map<string, string[]>()
  for (const [name, values] of parameters) {
    const lower = name.toLowerCase()
    byName.set(lower, [...(byName.get(lower) ?? []), ...values])
  }
  const only = (name: string): Parameters => new Map([[name, byName.get(name.toLowerCase()) ?? []]])
  const text = (name: string): string | undefined => single(only(name), name)
  return {
    text,
    flag: (name) => readBoolean(only(name), name),
    json(name) {
      const value = text(name)
      if (value === undefined) return undefined
      try {
        return JSON.parse(value)
      } catch {
        throw new AdminError(400, `${name} is not valid JSON`)
      }
    },
  }
}

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

/** Reads `layerQueries`. Deleted features have no attributes to compare, so they pass every filter. */
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

function toFilter(
  layer: Layer,
  { where = '', queryOption = 'useFilter' }: z.infer<typeof querySchema>,
): Filter | undefined {
  if (queryOption === 'none') return new Set()
  if (queryOption === 'all' || where.trim() === '') return undefined
  return new Set(findFeatures(layer, { where }).map(({ objectId }) => objectId))
}

/** The data that a request is checked against. */
interface ExtractTarget {
  layers: ReadonlyMap<number, Layer>
  generation: number
  minGeneration: number
}

/** The generations of a layer that a request asks for: those after `min`, up to and including `max`. */
interface LayerWindow {
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
 */
function readWindows(fields: Fields, target: ExtractTarget, hasServerGens: boolean): LayerWindow[] {
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

export function readLayers(fields: Fields, target: Pick<ExtractTarget, 'layers'>): number[] | undefined {
  const text = fields.text('layers')?.trim()
  if (text === undefined) return undefined
  const list = text.startsWith('[') ? fields.json('layers') : text.split(',').map(toNumber)
  const layers = [...new Set(check<number[]>(layersSchema, list, 'layers'))]
  requireLayers(layers, target)
  return layers
}

const toNumber = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text))

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

function requireLayers(ids: readonly number[], { layers }: Pick<ExtractTarget, 'layers'>): void {
  const unknown = ids.find((id) => !layers.has(id))
  if (unknown !== undefined) throw new AdminError(400, `the service has no layer ${unknown}`)
}

/**
 * Refuses values that would change the answer, but that the mock does not support. Parameters that have no meaning here
 * are ignored.
 */
export function refuseUnsupported(fields: Fields, { layers }: ExtractTarget): void {
  const dataFormat = fields.text('dataFormat')
  if (dataFormat !== undefined && dataFormat.toLowerCase() !== 'json')
    throw new AdminError(400, 'dataFormat: the mock supports only json')
  if (fields.text('geometry') !== undefined)
    throw new AdminError(400, 'geometry: the mock does not filter by geometry')
  const version = fields.text('gdbVersion')
  if (version !== undefined && version.toLowerCase() !== 'sde.default')
    throw new AdminError(400, 'gdbVersion: the mock has only sde.DEFAULT')
  const gridCell = fields.text('changesExtentGridCell')
  if (gridCell !== undefined && gridCell.toLowerCase() !== 'none')
    throw new AdminError(400, 'changesExtentGridCell: the mock supports only none')
  const outSR = fields.text('outSR')
  const isOther = ({ spatialReference }: { spatialReference: { wkid: number } }): boolean =>
    spatialReference.wkid !== readWkid(outSR as string)
  if (outSR !== undefined && [...layers.values()].some(isOther))
    throw new AdminError(400, 'outSR: the mock does not project; leave it out, or use the wkid of the layers')
}

/** Reads a spatial reference: a number, or JSON with a `wkid`. Other forms are NaN. */
function readWkid(text: string): number {
  try {
    const value = JSON.parse(text) as { wkid?: unknown } | number | null
    return Number(typeof value === 'object' ? value?.wkid : value)
  } catch {
    return Number.NaN
  }
}

/** A request for changes, with defaults. */
export interface ExtractRequest {
  /** In the order of the request. */
  windows: readonly LayerWindow[]
  filters: ReadonlyMap<number, Filter>
  inserts: boolean
  updates: boolean
  deletes: boolean
  deletedFeatures: boolean
  idsOnly: boolean
  attachments: boolean
  attachmentsByUrl: boolean
  hasGeometryUpdates: boolean
  /** Names as in the request. */
  fieldsToCompare: readonly string[] | undefined
  extentOnly: boolean
  /** Whether the answer is a job. */
  isJob: boolean
}

export function readExtractRequest(
  fields: Fields,
  target: ExtractTarget,
  options: ResolvedExtractOptions,
): ExtractRequest {
  const since = (version: '10.9' | '11.0' | '11.1'): boolean => extractsSince(options, version)
  refuseUnsupported(fields, target)
  const windows = readWindows(fields, target, since('11.0'))
  // Before version 11.0, the answer can have ids only.
  const idsOnly = fields.flag('returnIdsOnly') === true || !since('11.0')
  const extentOnly = fields.flag('returnExtentOnly') ?? false
  const kinds = readKinds(fields)
  const deletedFeatures = (since('11.1') && fields.flag('returnDeletedFeatures')) || false
  if (deletedFeatures && !kinds.deletes)
    throw new AdminError(400, 'returnDeletedFeatures=true needs returnDeletes=true')
  if (deletedFeatures && idsOnly)
    throw new AdminError(400, 'returnDeletedFeatures and returnIdsOnly exclude each other')
  return {
    windows,
    filters: readFilters(fields, target.layers),
    ...kinds,
    deletedFeatures,
    idsOnly,
    attachments: (since('11.0') && !idsOnly && fields.flag('returnAttachments')) || false,
    attachmentsByUrl: fields.flag('returnAttachmentsDataByUrl') ?? true,
    hasGeometryUpdates: (since('10.9') && fields.flag('returnHasGeometryUpdates')) || false,
    fieldsToCompare: since('11.0') ? readFieldsToCompare(fields, windows, target) : undefined,
    extentOnly,
    isJob: isJob(fields, options, idsOnly || extentOnly),
  }
}

/**
 * Which changes are wanted. A request that names only what it does not want gets the rest, as those of `changesUrl`; a
 * request that wants one kind gets only what it wants, as documented (docs/decisions.md).
 */
function readKinds(fields: Fields): Pick<ExtractRequest, 'inserts' | 'updates' | 'deletes'> {
  const given = ['returnInserts', 'returnUpdates', 'returnDeletes'].map((name) => fields.flag(name))
  const missing = !given.includes(true)
  const [inserts = missing, updates = missing, deletes = missing] = given
  return { inserts, updates, deletes }
}

function readFieldsToCompare(
  fields: Fields,
  windows: readonly LayerWindow[],
  { layers }: ExtractTarget,
): readonly string[] | undefined {
  const value = fields.json('fieldsToCompare')
  if (value === undefined || value === null) return undefined
  const names = Array.isArray(value) ? value : (value as { fields?: unknown }).fields
  if (!Array.isArray(names) || names.length > 200 || !names.every((name) => typeof name === 'string'))
    throw new AdminError(400, 'fieldsToCompare must be like {"fields":["name"]}')
  const unknown = names.find((name) =>
    windows.every(({ id }) => findField(layers.get(id) as Layer, name) === undefined),
  )
  if (unknown === undefined) return names
  throw new AdminError(400, `fieldsToCompare: no layer has the field ${JSON.stringify(unknown.slice(0, 64))}`)
}

function isJob(fields: Fields, { answer }: ResolvedExtractOptions, isSmall: boolean): boolean {
  const isAsync = fields.flag('async')
  const transportType = fields.text('transportType')
  const isEmbedded = transportType === 'esriTransportTypeEmbedded'
  if (transportType !== undefined && !isEmbedded && transportType !== 'esriTransportTypeUrl')
    throw new AdminError(400, 'transportType must be esriTransportTypeUrl or esriTransportTypeEmbedded')
  if (answer !== 'auto') return answer === 'job'
  return isAsync ?? !(isEmbedded || (isSmall && transportType === undefined))
}
