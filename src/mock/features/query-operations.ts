import { AdminError } from '../http/errors.ts'
import { type Parameters, READ_METHODS } from '../http/operation.ts'
import { single } from '../http/request.ts'
import type { Service } from '../state/services.ts'
import { extractChangesCapabilities } from './extract/options.ts'
import type { FeatureData } from './feature-data.ts'
import type { Field, Layer } from './model.ts'
import {
  type FeatureOperation,
  featureOf,
  flag,
  ids,
  layerOf,
  object,
  operation,
  requireReference,
  spatialReference,
  text,
  whole,
} from './operation.ts'
import { findFeatures, readOutFields, toFeatureJson } from './query.ts'

const CAPABILITIES = 'Query,Create,Update,Delete,Editing,ChangeTracking'

/** Maximum number of features in one response of `query`. */
const MAX_RECORDS = 2000

/** The description of a service, with the generations of its layers if `returnUpdates`. */
function toServiceJson(
  { serviceName }: Service,
  { layers, generation, minGeneration, lastChange }: FeatureData,
  extractChangesCapabilities: Readonly<Record<string, boolean>>,
  returnUpdates: boolean,
): object {
  const all = [...layers.values()]
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
    ...describeAll(all, toSummary),
  }
}

/** Describes layers, apart from tables. */
const describeAll = (layers: readonly Layer[], describe: (layer: Layer) => object): object => ({
  layers: layers.filter(({ geometryType }) => geometryType).map(describe),
  tables: layers.filter(({ geometryType }) => !geometryType).map(describe),
})

/** A layer or table in the description of its service. */
const toSummary = (layer: Layer): object => ({
  id: layer.id,
  name: layer.name,
  parentLayerId: -1,
  defaultVisibility: true,
  subLayerIds: null,
  type: typeOf(layer),
  ...(layer.geometryType ? { geometryType: layer.geometryType } : {}),
})

const typeOf = ({ geometryType }: Layer): string => (geometryType ? 'Feature Layer' : 'Table')

function toLayerJson(layer: Layer): object {
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

const describeService = (name: string, summary: string, area?: 'admin'): FeatureOperation =>
  operation({
    name,
    ...(area ? { area } : {}),
    path: '',
    summary,
    methods: READ_METHODS,
    parameters: { returnUpdates: flag('Whether the response has the generations of the layers.') },
    response: { type: 'object' },
    run: ({ context, service, data }, { returnUpdates = false }) => ({
      body: toServiceJson(
        service,
        data,
        extractChangesCapabilities(context.extractions.options),
        returnUpdates,
      ),
    }),
  })

const getLayer = operation({
  name: 'getLayer',
  path: '{layerId}',
  summary: 'Describe a layer or table.',
  methods: READ_METHODS,
  response: { type: 'object' },
  run: (call) => ({ body: toLayerJson(layerOf(call)) }),
})

const getLayers = operation({
  name: 'getLayers',
  path: 'layers',
  summary: 'Describe all layers and tables.',
  methods: READ_METHODS,
  response: { type: 'object' },
  run: ({ data }) => ({ body: describeAll([...data.layers.values()], toLayerJson) }),
})

const getFeature = operation({
  name: 'getFeature',
  path: '{layerId}/{objectId}',
  summary: 'Read a feature.',
  methods: READ_METHODS,
  response: object({
    feature: object({ attributes: { type: 'object' }, geometry: { type: 'object' } }, ['attributes']),
  }),
  run: (call) => ({ body: { feature: toFeatureJson(featureOf(call)) } }),
})

const QUERY_PARAMETERS = {
  where: text('Condition on the fields, for example height > 10. Default: all features.'),
  objectIds: ids('Object ids, comma-separated.'),
  globalIds: ids('Global ids, comma-separated.'),
  outFields: text('Names of fields, comma-separated, or *. Default *.'),
  orderByFields: text('Names of fields, each with ASC or DESC, comma-separated.'),
  returnGeometry: flag('Default true.'),
  returnIdsOnly: flag('Whether to return only the object ids of all features found.'),
  returnCountOnly: flag('Whether to return only the number of features found.'),
  resultOffset: whole('Number of features to skip. Default 0.'),
  resultRecordCount: whole(`Maximum number of features. Default and maximum ${MAX_RECORDS}.`),
  outSR: spatialReference('Spatial reference of the geometries: only that of the layer.'),
}

const query = operation({
  name: 'queryFeatures',
  path: '{layerId}/query',
  summary: 'Find features of a layer.',
  methods: READ_METHODS,
  parameters: QUERY_PARAMETERS,
  response: { type: 'object', description: 'Features, ids or a count.' },
  run(call, { outFields, outSR, returnGeometry = true, resultOffset: offset = 0, ...values }) {
    const layer = layerOf(call)
    const { geometryType, spatialReference, systemFields, fields } = layer
    refuseUnsupported(call.parameters)
    requireReference([layer], outSR)
    const found = findFeatures(layer, values)
    if (values.returnCountOnly) return { body: { count: found.length } }
    const { objectId: objectIdFieldName, globalId: globalIdFieldName } = systemFields
    if (values.returnIdsOnly)
      return { body: { objectIdFieldName, objectIds: found.map(({ objectId }) => objectId) } }
    const names = readOutFields(layer, outFields)
    const page = found.slice(offset, offset + Math.min(values.resultRecordCount ?? MAX_RECORDS, MAX_RECORDS))
    return {
      body: {
        objectIdFieldName,
        globalIdFieldName,
        ...(geometryType ? { geometryType, spatialReference } : {}),
        fields: fields.filter(({ name }) => !names || names.includes(name)).map(toFieldJson),
        features: page.map((feature) => toFeatureJson(feature, names, returnGeometry)),
        ...(found.length > offset + page.length ? { exceededTransferLimit: true } : {}),
      },
    }
  },
})

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
  'returnDistinctValues',
  'returnExtentOnly',
  'returnCentroid',
  'returnUniqueIdsOnly',
]

function refuseUnsupported(parameters: Parameters): void {
  const name = UNSUPPORTED.find((name) => !/^(false)?$/i.test(single(parameters, name) ?? ''))
  if (name === undefined) return
  const supported = Object.keys(QUERY_PARAMETERS).join(', ')
  throw new AdminError(400, `the mock does not support ${name} in queries`, `it supports ${supported}`)
}

export const QUERY_OPERATIONS: readonly FeatureOperation[] = [
  describeService('getFeatureService', 'Describe a feature service.'),
  describeService('getFeatureServiceAdmin', 'Describe a feature service to its administrators.', 'admin'),
  getLayers,
  getLayer,
  query,
  getFeature,
]
