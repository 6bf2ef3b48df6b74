import { z } from 'zod'
import { AdminError, quote } from '../../http/errors.ts'
import { CHANGE_METHODS, INTEGER, listOf, type Parameters, READ_METHODS, TEXT } from '../../http/operation.ts'
import { single } from '../../http/request.ts'
import { check } from '../../schemas.ts'
import type { FeatureData } from '../feature-data.ts'
import { findField, type Layer } from '../model.ts'
import {
  type FeatureOperation,
  flag,
  ids,
  json,
  object,
  operation,
  type Parameter,
  refused,
  required,
  requireReference,
  spatialReference,
  text,
  type ValuesOf,
  word,
} from '../operation.ts'
import { findFeatures } from '../query.ts'
import type { ExtractRequest, Filter, LayerWindow } from './document.ts'
import { purgedError } from './extractions.ts'
import { extractsSince, type ResolvedExtractOptions } from './options.ts'

const generation = z.int()
const layersSchema = z.array(z.int().min(0)).min(1).max(100)

/** Ids of layers, as `0,1` or `[0,1]`. */
const layerIds = (description: string): Parameter<number[] | undefined> => {
  const parameter = ids(description)
  const read = (parameters: Parameters, name: string): number[] | undefined => {
    const given = parameter.read(parameters, name)?.map((id) => (typeof id === 'string' ? Number(id) : id))
    return given && [...new Set(check<number[]>(layersSchema, given, name))]
  }
  return { ...parameter, read }
}

function requireLayers(
  ids: readonly number[] = [],
  { layers }: { layers: ReadonlyMap<number, Layer> },
): void {
  const unknown = ids.find((id) => !layers.has(id))
  if (unknown !== undefined) throw new AdminError(400, `the service has no layer ${unknown}`)
}

const names = z.array(z.string()).max(200)
const KIND = 'Default: true, but false if one of returnInserts, returnUpdates and returnDeletes is true.'

const PARAMETERS = {
  layers: layerIds('Ids of the layers, as 0,1 or [0,1]. Default: those of layerServerGens, or all.'),
  serverGens: json(
    z.union([generation, z.array(generation).min(1).max(2)]),
    'A generation, or two as [first,last]: the changes after the first, up to the last.',
  ),
  layerServerGens: json(
    z
      .array(z.object({ id: z.int().min(0), serverGen: generation }))
      .min(1)
      .max(100),
    'JSON: [{"id":0,"serverGen":1}], the changes of each layer after a generation.',
  ),
  layerQueries: json(
    z
      .record(
        z.string(),
        z.object({
          where: z.string().optional(),
          queryOption: z.enum(['none', 'useFilter', 'all']).optional(),
        }),
      )
      .refine((queries) => Object.keys(queries).length <= 100, 'may have at most 100 layers'),
    'JSON: {"0":{"where":"…","queryOption":"none|useFilter|all"}}.',
  ),
  returnInserts: flag(KIND),
  returnUpdates: flag(KIND),
  returnDeletes: flag(KIND),
  returnDeletedFeatures: flag('Whether deleted features are included. Default false.'),
  returnIdsOnly: flag('Whether features are listed by their object ids. Default false.'),
  returnAttachments: flag('Whether changes of attachments are included. Default false.'),
  returnAttachmentsDataByUrl: flag('URLs of attachments (default), or their data.'),
  returnHasGeometryUpdates: flag('Whether a geometry was updated. Default false.'),
  returnExtentOnly: word(['false'], 'The mock computes no extent.'),
  fieldsToCompare: json(
    z.union([names, z.object({ fields: names })], 'must be like {"fields":["name"]}'),
    'JSON: {"fields":["name"]}; lists the updates that changed one of the fields.',
  ),
  async: flag('Whether the response is a job.'),
  transportType: word(
    ['esriTransportTypeUrl', 'esriTransportTypeEmbedded'],
    'Without async: esriTransportTypeEmbedded for changes, otherwise a job.',
  ),
  dataFormat: word(['json'], 'The only supported format is json.'),
  geometry: refused('the mock does not filter by geometry'),
  gdbVersion: word(['sde.DEFAULT'], 'The mock has only one version.'),
  changesExtentGridCell: word(['none'], 'The mock has no grid.'),
  outSR: spatialReference('Spatial reference of the geometries: only that of the layers.'),
}

type Values = ValuesOf<typeof PARAMETERS>

function readRequest(values: Values, data: FeatureData, options: ResolvedExtractOptions): ExtractRequest {
  const since = (version: '10.9' | '11.0' | '11.1'): boolean => extractsSince(options, version)
  requireReference(data.layers.values(), values.outSR)
  requireLayers(values.layers, data)
  const windows = readWindows(since('11.0') ? values : { ...values, serverGens: undefined }, data)
  // Before version 11.0, the answer can have ids only.
  const idsOnly = values.returnIdsOnly === true || !since('11.0')
  // A request that names only what it does not want gets the rest, as those of `changesUrl`; a request that wants one
  // kind gets only what it wants, as documented (docs/decisions.md).
  const rest = !(values.returnInserts || values.returnUpdates || values.returnDeletes)
  const deletes = values.returnDeletes ?? rest
  const deletedFeatures = since('11.1') && values.returnDeletedFeatures === true
  if (deletedFeatures && !deletes)
    throw new AdminError(400, 'returnDeletedFeatures=true needs returnDeletes=true')
  if (deletedFeatures && idsOnly)
    throw new AdminError(400, 'returnDeletedFeatures and returnIdsOnly exclude each other')
  return {
    windows,
    filters: readFilters(values, data),
    inserts: values.returnInserts ?? rest,
    updates: values.returnUpdates ?? rest,
    deletes,
    deletedFeatures,
    idsOnly,
    attachments: !idsOnly && values.returnAttachments === true,
    attachmentsByUrl: values.returnAttachmentsDataByUrl ?? true,
    hasGeometryUpdates: since('10.9') && values.returnHasGeometryUpdates === true,
    fieldsToCompare: since('11.0') ? readFieldsToCompare(values, windows, data) : undefined,
    isJob: isJob(values, options, idsOnly),
  }
}

function readWindows({ layers, layerServerGens, serverGens }: Values, data: FeatureData): LayerWindow[] {
  if (layerServerGens && serverGens !== undefined)
    throw new AdminError(400, 'give either layerServerGens or serverGens')
  const windows = layerServerGens
    ? fromLayerServerGens(layerServerGens, layers, data)
    : fromServerGens(serverGens, layers ?? [...data.layers.keys()], data)
  if (windows.some(({ min }) => min < data.minGeneration)) throw purgedError(data.minGeneration)
  return windows
}

function fromServerGens(
  serverGens: Values['serverGens'],
  layers: readonly number[],
  { generation }: FeatureData,
): LayerWindow[] {
  if (serverGens === undefined)
    throw new AdminError(400, 'layerServerGens is required, or serverGens since version 11.0')
  const [min = 0, max = Infinity] = typeof serverGens === 'number' ? [serverGens] : serverGens
  if (min > max) throw new AdminError(400, 'serverGens: the first generation is after the last')
  return layers.map((id) => ({ id, min, max: Math.min(max, generation) }))
}

function fromLayerServerGens(
  gens: NonNullable<Values['layerServerGens']>,
  layers: Values['layers'],
  data: FeatureData,
): LayerWindow[] {
  const ids = new Set(gens.map(({ id }) => id))
  requireLayers([...ids], data)
  const isSame = !layers || (layers.length === ids.size && layers.every((id) => ids.has(id)))
  // Live services refuse the whole request then (docs/decisions.md).
  if (ids.size !== gens.length || !isSame)
    throw new AdminError(
      400,
      'Invalid Sync model type.',
      'layers and layerServerGens must name the same layers',
    )
  return gens.map(({ id, serverGen }) => ({ id, min: serverGen, max: data.generation }))
}

/** Reads `layerQueries`. Deleted features have no attributes to compare, so they pass every filter. */
function readFilters({ layerQueries = {} }: Values, { layers }: FeatureData): Map<number, Filter> {
  const filters = new Map<number, Filter>()
  for (const [id, { where = '', queryOption = 'useFilter' }] of Object.entries(layerQueries)) {
    const layer = /^\d{1,9}$/.test(id) ? layers.get(Number(id)) : undefined
    if (!layer) throw new AdminError(400, 'layerQueries names a layer that does not exist')
    if (queryOption === 'none') filters.set(layer.id, new Set())
    else if (queryOption === 'useFilter' && where.trim() !== '')
      filters.set(layer.id, new Set(findFeatures(layer, { where }).map(({ objectId }) => objectId)))
  }
  return filters
}

function readFieldsToCompare(
  { fieldsToCompare }: Values,
  windows: readonly LayerWindow[],
  { layers }: FeatureData,
): readonly string[] | undefined {
  const names = fieldsToCompare && 'fields' in fieldsToCompare ? fieldsToCompare.fields : fieldsToCompare
  const unknown = names?.find((name) =>
    windows.every(({ id }) => findField(layers.get(id) as Layer, name) === undefined),
  )
  if (unknown === undefined) return names
  throw new AdminError(400, `fieldsToCompare: no layer has the field ${quote(unknown)}`)
}

function isJob(
  { async: isAsync, transportType }: Values,
  { answer }: ResolvedExtractOptions,
  idsOnly: boolean,
): boolean {
  if (answer !== 'auto') return answer === 'job'
  if (isAsync !== undefined) return isAsync
  return transportType === undefined ? !idsOnly : transportType === 'esriTransportTypeUrl'
}

/** `resultUrl` is empty until there is a file. */
const JOB_SCHEMA = object({
  responseType: TEXT,
  resultUrl: TEXT,
  submissionTime: INTEGER,
  lastUpdatedTime: INTEGER,
  status: TEXT,
  transportType: TEXT,
})

const DOCUMENT_SCHEMA = object({
  layerServerGens: listOf(object({ id: INTEGER, serverGen: INTEGER })),
  transportType: TEXT,
  responseType: TEXT,
  edits: listOf(object({ id: INTEGER })),
})

const extractChanges = operation({
  name: 'extractChanges',
  path: 'extractChanges',
  summary: 'Extract the changes of layers between two generations.',
  methods: READ_METHODS,
  parameters: PARAMETERS,
  response: { anyOf: [object({ statusUrl: TEXT }), DOCUMENT_SCHEMA] },
  run(call, values) {
    const { extractions } = call.context
    return extractions.submit(call, readRequest(values, call.data, extractions.options))
  },
})

const getJob = operation({
  name: 'getExtractChangesJob',
  path: 'jobs/{jobId}',
  summary: 'Describe a job of extractChanges.',
  methods: READ_METHODS,
  response: JOB_SCHEMA,
  run: (call) => call.context.extractions.poll(call, call.path.jobId ?? ''),
})

const getFile = operation({
  name: 'getChangeFile',
  path: 'changefiles/{fileName}',
  summary: 'Read the changes of a job. The response can be a redirect to a signed URL of another host.',
  methods: READ_METHODS,
  parameters: {
    expires: text('Time when a signed URL expires.'),
    signature: text('Signature of a signed URL, which needs no token.'),
  },
  response: DOCUMENT_SCHEMA,
  isOpen: (parameters) => single(parameters, 'signature') !== undefined,
  run(call, { expires = '', signature }) {
    const id = (call.path.fileName ?? '').replace(/\.json$/, '')
    const { extractions } = call.context
    if (signature === undefined) return extractions.result(call, id)
    return extractions.signedResult(id, { expires, signature, hasToken: call.parameters.has('token') })
  },
})

/** Drops old changes, so that windows which contain them cannot be extracted any more. */
const cleanupChangeTracking = operation({
  name: 'cleanupChangeTracking',
  area: 'admin',
  path: 'cleanupChangeTracking',
  summary: 'Drop the changes up to a generation.',
  methods: CHANGE_METHODS,
  parameters: {
    layers: layerIds('Ids of all layers. Default: all.'),
    minServerGen: required(json(generation, 'The changes up to this generation are dropped.')),
    retentionPeriod: refused('the mock drops changes by their generation'),
    replicaId: refused('the mock has no replicas'),
    async: word(['false'], 'The mock answers at once.'),
  },
  response: object({ success: { const: true } }),
  run({ data }, { layers, minServerGen }) {
    requireLayers(layers, data)
    if (layers && layers.length < data.layers.size)
      throw new AdminError(
        400,
        'layers: the mock keeps one history for all layers, so name all of them or none',
      )
    data.cleanup(minServerGen)
    return { body: { success: true }, changed: true }
  },
})

export const EXTRACT_OPERATIONS: readonly FeatureOperation[] = [
  extractChanges,
  getJob,
  getFile,
  cleanupChangeTracking,
]
