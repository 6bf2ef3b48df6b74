import { tryJson } from '../../shared/json.ts'
import { AdminError } from '../http/errors.ts'
import { optional, type Parameters, READ_METHODS } from '../http/operation.ts'
import { readBoolean, readInteger, single } from '../http/request.ts'
import type { Service } from '../state/services.ts'
import type { FeatureData } from './feature-data.ts'
import { isSameReference } from './geometry.ts'
import type { Field, Layer } from './model.ts'
import { BOOLEAN, FEATURE, type FeatureOperation, layerOf, QUERY_RESULT, readIds } from './operation.ts'
import { findFeatures, readOutFields, toFeatureJson } from './query.ts'

const CAPABILITIES = 'Query,Create,Update,Delete,Editing,ChangeTracking'

/** Maximum number of features in one response of `query`. */
export const MAX_RECORDS = 2000

/** The description of a service, with the generations of its layers if `returnUpdates`. */
function toServiceJson(
  { serviceName }: Service,
  { layers, generation, minGeneration, lastChange }: FeatureData,
  extractChangesCapabilities: Readonly<Record<string, boolean>>,
  returnUpdates: boolean,
): object {
  const all = [...layers.values()]
  const summaries = all.map((layer) => ({
    id: layer.id,
    name: layer.name,
    parentLayerId: -1,
    defaultVisibility: true,
    subLayerIds: null,
    type: typeOf(layer),
    ...(layer.geometryType ? { geometryType: layer.geometryType } : {}),
  }))
  return {
    currentVersion: 11.3,
    serviceDescription: serviceName,
    hasVersionedData: false,
    supportsApplyEditsWithGlobalIds: true,
    maxRecordCount: MAX_RECORDS,
    supportedQueryFormats: 'JSON',
    capabilities: CAPABILITIES,
    spatialReference: all[0]?.spatialReference ?? { wkid: 4326 },
    allowGeometryUpdates: true,
    changeTrackingEnabled: true,
    syncEnabled: false,
    extractChangesCapabilities,
    ...(returnUpdates
      ? {
          changeTrackingInfo: {
            lastSyncDate: lastChange,
            layerServerGens: all.map(({ id }) => ({
              id,
              minServerGen: minGeneration,
              serverGen: generation,
            })),
          },
        }
      : {}),
    layers: summaries.filter((_, index) => all[index]?.geometryType),
    tables: summaries.filter((_, index) => !all[index]?.geometryType),
  }
}

const typeOf = ({ geometryType }: Layer): string => (geometryType ? 'Feature Layer' : 'Table')

/** The description of a layer or table. */
export function toLayerJson(layer: Layer): object {
  const { id, name, geometryType, fields, systemFields, hasAttachments, spatialReference } = layer
  const { objectId, globalId, creationDate, creator, editDate, editor } = systemFields
  return {
    currentVersion: 11.3,
    id,
    name,
    type: typeOf(layer),
    parentLayer: null,
    ...(geometryType ? { geometryType, extent: { spatialReference } } : {}),
    displayField: fields.find(({ type }) => type === 'esriFieldTypeString')?.name ?? objectId,
    objectIdField: objectId,
    objectIdFieldName: objectId,
    globalIdField: globalId,
    editFieldsInfo: {
      creationDateField: creationDate,
      creatorField: creator,
      editDateField: editDate,
      editorField: editor,
    },
    fields: fields.map(toFieldJson),
    hasAttachments,
    maxRecordCount: MAX_RECORDS,
    capabilities: CAPABILITIES,
    supportsRollbackOnFailureParameter: true,
    supportsApplyEditsWithGlobalIds: true,
    advancedQueryCapabilities: { supportsPagination: true, supportsOrderBy: true },
    allowGeometryUpdates: true,
    isDataVersioned: false,
  }
}

/** A field in a description or in the response of a query. */
const toFieldJson = ({ name, type, alias, length, nullable, editable }: Field): object => ({
  name,
  type,
  alias,
  ...(length === undefined ? {} : { length }),
  nullable,
  editable,
  domain: null,
  defaultValue: null,
})

const getService: FeatureOperation = {
  name: 'getFeatureService',
  path: '',
  summary: 'Describe a feature service.',
  methods: READ_METHODS,
  parameters: [optional('returnUpdates', 'Whether the response has the generations of the layers.', BOOLEAN)],
  response: { type: 'object' },
  run: ({ context, service, data, parameters }) => ({
    body: toServiceJson(
      service,
      data,
      context.extractions.capabilities,
      readBoolean(parameters, 'returnUpdates') ?? false,
    ),
  }),
}

const getServiceAdmin: FeatureOperation = {
  ...getService,
  name: 'getFeatureServiceAdmin',
  area: 'admin',
  summary: 'Describe a feature service to its administrators.',
}

const getLayer: FeatureOperation = {
  name: 'getLayer',
  path: '{layerId}',
  summary: 'Describe a layer or table.',
  methods: READ_METHODS,
  response: { type: 'object' },
  run: (call) => ({ body: toLayerJson(layerOf(call)) }),
}

const getLayers: FeatureOperation = {
  name: 'getLayers',
  path: 'layers',
  summary: 'Describe all layers and tables.',
  methods: READ_METHODS,
  response: { type: 'object' },
  run({ data }) {
    const layers = [...data.layers.values()]
    return {
      body: {
        layers: layers.filter(({ geometryType }) => geometryType).map(toLayerJson),
        tables: layers.filter(({ geometryType }) => !geometryType).map(toLayerJson),
      },
    }
  },
}

const getFeature: FeatureOperation = {
  name: 'getFeature',
  path: '{layerId}/{objectId}',
  summary: 'Read a feature.',
  methods: READ_METHODS,
  response: { type: 'object', properties: { feature: FEATURE }, required: ['feature'] },
  run(call) {
    const feature = layerOf(call).features.get(Number(call.path.objectId))
    if (!feature) throw new AdminError(404, 'the feature does not exist')
    return { body: { feature: toFeatureJson(feature, undefined, true) } }
  },
}

const WHOLE = { type: 'integer', minimum: 0, maximum: 999_999_999 }

const QUERY_PARAMETERS = [
  optional('where', 'Condition on the fields, for example height > 10. Default: all features.'),
  optional('objectIds', 'Object ids, comma-separated.'),
  optional('globalIds', 'Global ids, comma-separated.'),
  optional('outFields', 'Names of fields, comma-separated, or *. Default *.'),
  optional('orderByFields', 'Names of fields, each with ASC or DESC, comma-separated.'),
  optional('returnGeometry', 'Default true.', BOOLEAN),
  optional('returnIdsOnly', 'Whether to return only the object ids of all features found.', BOOLEAN),
  optional('returnCountOnly', 'Whether to return only the number of features found.', BOOLEAN),
  optional('resultOffset', 'Number of features to skip. Default 0.', WHOLE),
  optional('resultRecordCount', `Maximum number of features. Default and maximum ${MAX_RECORDS}.`, WHOLE),
  optional('outSR', 'Spatial reference of the geometries: only that of the layer.'),
]

const query: FeatureOperation = {
  name: 'queryFeatures',
  path: '{layerId}/query',
  summary: 'Find features of a layer.',
  methods: READ_METHODS,
  parameters: QUERY_PARAMETERS,
  response: QUERY_RESULT,
  run(call) {
    const { parameters } = call
    const layer = layerOf(call)
    refuseUnsupported(parameters, layer)
    const found = findFeatures(layer, {
      where: single(parameters, 'where'),
      objectIds: readIds(parameters, 'objectIds'),
      globalIds: readIds(parameters, 'globalIds'),
      orderByFields: single(parameters, 'orderByFields'),
    })
    if (readBoolean(parameters, 'returnCountOnly')) return { body: { count: found.length } }
    const { objectId: objectIdFieldName, globalId: globalIdFieldName } = layer.systemFields
    if (readBoolean(parameters, 'returnIdsOnly'))
      return { body: { objectIdFieldName, objectIds: found.map(({ objectId }) => objectId) } }
    const names = readOutFields(layer, single(parameters, 'outFields'))
    const withGeometry = readBoolean(parameters, 'returnGeometry') ?? true
    const offset = readInteger(parameters, 'resultOffset', WHOLE) ?? 0
    const limit = Math.min(readInteger(parameters, 'resultRecordCount', WHOLE) ?? MAX_RECORDS, MAX_RECORDS)
    const page = found.slice(offset, offset + limit)
    return {
      body: {
        objectIdFieldName,
        globalIdFieldName,
        ...(layer.geometryType
          ? { geometryType: layer.geometryType, spatialReference: layer.spatialReference }
          : {}),
        fields: layer.fields.filter(({ name }) => !names || names.includes(name)).map(toFieldJson),
        features: page.map((feature) => toFeatureJson(feature, names, withGeometry)),
        ...(found.length > offset + page.length ? { exceededTransferLimit: true } : {}),
      },
    }
  },
}

/** Parameters that would change the result. Without an error, clients would take all features for the result. */
const UNSUPPORTED = [
  'geometry',
  'time',
  'distance',
  'relationParam',
  'outStatistics',
  'groupByFieldsForStatistics',
  'having',
  'historicMoment',
  'quantizationParameters',
]
const UNSUPPORTED_FLAGS = [
  'returnDistinctValues',
  'returnExtentOnly',
  'returnCentroid',
  'returnUniqueIdsOnly',
]

function refuseUnsupported(parameters: Parameters, layer: Layer): void {
  const name =
    UNSUPPORTED.find((parameter) => single(parameters, parameter) !== undefined) ??
    UNSUPPORTED_FLAGS.find((parameter) => single(parameters, parameter)?.toLowerCase() === 'true')
  if (name !== undefined)
    throw new AdminError(
      400,
      `the mock does not support ${name} in queries`,
      `it supports ${QUERY_PARAMETERS.map((parameter) => parameter.name).join(', ')}`,
    )
  const outSR = single(parameters, 'outSR')
  if (outSR !== undefined && !isSameReference(readWkid(outSR), layer.spatialReference.wkid))
    throw new AdminError(
      400,
      `outSR must be ${layer.spatialReference.wkid}, because the mock does not project`,
    )
}

/** Reads a spatial reference: a number, or JSON with `wkid`. */
export function readWkid(text: string): number | undefined {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const { wkid } = (tryJson(text) ?? {}) as { wkid?: unknown }
  return typeof wkid === 'number' ? wkid : undefined
}

export const QUERY_OPERATIONS: readonly FeatureOperation[] = [getLayers, getLayer, query, getFeature]
export const SERVICE_OPERATIONS: readonly FeatureOperation[] = [getService, getServiceAdmin]
