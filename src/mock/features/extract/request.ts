import { AdminError } from '../../http/errors.ts'
import { findField, type Layer } from '../model.ts'
import type { Fields } from './fields.ts'
import { type Filter, readFilters } from './filters.ts'
import { extractsSince, type ResolvedExtractOptions } from './options.ts'
import { refuseUnsupported } from './unsupported.ts'
import { type ExtractTarget, type LayerWindow, readWindows } from './windows.ts'

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

/** @throws {AdminError} 400 for an invalid value, for one that the mock does not support, and for a window that is no longer kept */
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

/** @throws {AdminError} 400 */
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

/** @throws {AdminError} 400 */
function isJob(fields: Fields, { answer }: ResolvedExtractOptions, isSmall: boolean): boolean {
  const isAsync = fields.flag('async')
  const transportType = fields.text('transportType')
  const isEmbedded = transportType === 'esriTransportTypeEmbedded'
  if (transportType !== undefined && !isEmbedded && transportType !== 'esriTransportTypeUrl')
    throw new AdminError(400, 'transportType must be esriTransportTypeUrl or esriTransportTypeEmbedded')
  if (answer !== 'auto') return answer === 'job'
  return isAsync ?? !(isEmbedded || (isSmall && transportType === undefined))
}
