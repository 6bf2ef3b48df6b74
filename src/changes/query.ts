import {
  checkOptions,
  isBoolean,
  isFilledText,
  isFunction,
  must,
  type OptionNames,
  wholeNumber,
} from '../options.ts'
import { isObject, type Json } from '../shared/json.ts'
import { readAttachment, readFeatures, readList, readNumber } from './download.ts'
import { malformed } from './errors.ts'
import { isNames } from './options.ts'
import type { Attachment, Feature, StepName } from './types.ts'

/** Options of {@link ChangesClient.query}. */
export interface QueryOptions {
  /** Id of the layer or table to read. Default: all layers and tables of the service, one after another. */
  layer?: number | undefined
  /** SQL condition on the fields of the layer, for example `height > 10`. Default: all features. */
  where?: string | undefined
  /** Names of the fields to read. Object ids and global ids are always included. Default: all fields. */
  outFields?: readonly string[] | undefined
  /** Whether to list attachments too, with one request for each feature of a layer that has them. Default `false`. */
  attachments?: boolean | undefined
  /** Aborts the query, including its requests and pauses. */
  signal?: AbortSignal | undefined
}

/** Up to 1,000 features of one layer or table, in the order of their object ids. */
export interface FeaturePage<Attributes extends object = Record<string, unknown>> {
  /** Id of the layer or table. */
  layer: number
  features: Feature<Attributes>[]
  /** Attachments of these features. Empty without the option `attachments`. */
  attachments: Attachment[]
}

const NAMES: OptionNames<QueryOptions> = {
  layer: wholeNumber(0),
  where: isFilledText,
  outFields: must('be a list of field names', isNames),
  attachments: isBoolean,
  signal: must(
    'be an AbortSignal',
    (signal) => isFunction((signal as AbortSignal | null)?.throwIfAborted) === undefined,
  ),
}

/** @throws {WebhookError} `config_invalid` */
export const readQueryOptions = (options: QueryOptions | undefined): QueryOptions =>
  checkOptions(options, NAMES)

/** Maximum number of features in a page. The maximum of a service is often 1,000 or 2,000. */
const PAGE_SIZE = 1000

/** Sends a request that only reads. The path begins after the URL of the service. */
type Ask = (step: StepName, path: string, fields?: Readonly<Record<string, string>>) => Promise<Json>

interface QueryParts {
  /** URL of the feature service. */
  service: string
  /** Spatial reference of geometries; that of each layer if undefined. */
  outSR: string | undefined
  ask: Ask
}

/** Reads pages of features. @throws {WebhookError} the codes of `requestJson` */
export async function* readPages(
  parts: QueryParts,
  options: QueryOptions,
): AsyncGenerator<FeaturePage, void, undefined> {
  for (const layer of await describeLayers(parts, options.layer)) yield* readLayer(layer, parts, options)
}

/** What a query needs to know of a layer. */
interface LayerDescription {
  id: number
  objectIdField: string
  globalIdField: string | undefined
  hasAttachments: boolean
  isPaged: boolean
}

async function describeLayers({ ask }: QueryParts, id: number | undefined): Promise<LayerDescription[]> {
  if (id !== undefined) {
    const layer = readDescription({ ...(await ask('describe', `/${id}`)), id })
    if (layer) return [layer]
    throw malformed(`the description of layer ${id} has no object id field`)
  }
  const { layers, tables } = await ask('describe', '/layers')
  const found = [...requireList(layers, 'layers'), ...readList(tables, 'tables')].map(readDescription)
  return found.filter((layer) => layer !== undefined)
}

/** Returns undefined if the layer has no features of its own, as group layers. */
function readDescription(layer: Json): LayerDescription | undefined {
  const fields = readList(layer.fields, 'fields')
  const fieldOf = (member: string, type: string): string | undefined => {
    const names = [layer[member], fields.find((field) => field.type === type)?.name]
    return names.find((name): name is string => typeof name === 'string' && name !== '')
  }
  const objectIdField = fieldOf('objectIdField', 'esriFieldTypeOID')
  const { advancedQueryCapabilities: supported } = layer
  return objectIdField === undefined
    ? undefined
    : {
        id: readNumber(layer.id, 'id'),
        objectIdField,
        globalIdField: fieldOf('globalIdField', 'esriFieldTypeGlobalID'),
        hasAttachments: layer.hasAttachments === true,
        isPaged: !isObject(supported) || supported.supportsPagination !== false,
      }
}

/**
 * Reads a layer in the order of its object ids. A page begins after the last object id of the page before it: with an
 * offset, a deletion during the query would cause skipped features.
 */
async function* readLayer(
  layer: LayerDescription,
  parts: QueryParts,
  options: QueryOptions,
): AsyncGenerator<FeaturePage, void, undefined> {
  const { id } = layer
  for (let last: number | undefined; ; ) {
    const answer = await parts.ask('query', `/${id}/query`, toFields(layer, parts, options, last))
    requireList(answer.features, 'features')
    const features = readFeatures(answer.features, 'features')
    // A service can end a page early, so only an empty page is the end.
    if (features.length === 0 && answer.exceededTransferLimit !== true) return
    const ids = readObjectIds(features, layer, last)
    last = ids.at(-1)
    const attachments: Attachment[] = []
    if (options.attachments && layer.hasAttachments)
      for (const [index, feature] of features.entries())
        attachments.push(...(await readAttachments(ids[index], feature, layer, parts)))
    yield { layer: id, features, attachments }
  }
}

function toFields(
  { objectIdField, globalIdField, isPaged }: LayerDescription,
  { outSR }: QueryParts,
  { where, outFields = ['*'] }: QueryOptions,
  last: number | undefined,
): Record<string, string> {
  const conditions = [
    ...(where ? [`(${where})`] : []),
    ...(last === undefined ? [] : [`${objectIdField} > ${last}`]),
  ]
  const given = new Set(outFields.map((name) => name.toLowerCase()))
  const ids = [objectIdField, globalIdField].filter((name) => name && !given.has(name.toLowerCase()))
  return {
    where: conditions.join(' AND ') || '1=1',
    outFields: (given.has('*') ? ['*'] : [...ids, ...outFields]).join(','),
    orderByFields: objectIdField,
    // Queries omit them by default, and the features of changes have them.
    returnZ: 'true',
    returnM: 'true',
    ...(isPaged ? { resultRecordCount: String(PAGE_SIZE) } : {}),
    ...(outSR === undefined ? {} : { outSR }),
  }
}

/** Requires ascending object ids, because otherwise the next page could skip features or repeat this one. */
function readObjectIds(
  features: readonly Feature[],
  { id, objectIdField }: LayerDescription,
  last = -Infinity,
): number[] {
  const ids = features.map(({ attributes }) => attributes[objectIdField] as number)
  const isAscending = ids.every((one, index) => Number.isSafeInteger(one) && one > (ids[index - 1] ?? last))
  if (ids.length > 0 && isAscending) return ids
  throw malformed(
    `a page of layer ${id} is not in the order of the field ${objectIdField}, or is empty too early`,
  )
}

async function readAttachments(
  objectId: number | undefined,
  { attributes }: Feature,
  { id, globalIdField = '' }: LayerDescription,
  { service, ask }: QueryParts,
): Promise<Attachment[]> {
  const path = `/${id}/${objectId}/attachments`
  const { attachmentInfos } = await ask('query', path)
  return requireList(attachmentInfos, 'attachmentInfos').map((info) => {
    const attachmentId = readNumber(info.id, 'attachmentInfos.id')
    const parentGlobalId = attributes[globalIdField] ?? info.parentGlobalId
    return readAttachment({ ...info, attachmentId, parentGlobalId, url: `${service}${path}/${attachmentId}` })
  })
}

/** A missing list must not count as an empty one: a copy would lose features. */
function requireList(value: unknown, name: string): Json[] {
  if (Array.isArray(value)) return readList(value, name)
  throw malformed(`the response has no list ${name}`)
}
