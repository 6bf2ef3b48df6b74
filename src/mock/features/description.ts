import type { Service } from '../state/services.ts'
import type { FeatureData } from './feature-data.ts'
import type { Field, Layer } from './model.ts'

export const CAPABILITIES = 'Query,Create,Update,Delete,Editing,ChangeTracking'

/** The options of `extractChanges` that the mock has. */
export const EXTRACT_CHANGES_CAPABILITIES: Readonly<Record<string, boolean>> = {
  supportsReturnIdsOnly: true,
  supportsReturnExtentOnly: true,
  supportsReturnAttachments: true,
  supportsLayerQueries: true,
  supportsGeometry: true,
  supportsReturnFeature: true,
  supportsServerGens: true,
  supportsReturnHasGeometryUpdates: true,
  supportsFieldsToCompare: true,
  supportsReturnDeletedFeatures: true,
}

/** Maximum number of features in one response of `query`. */
export const MAX_RECORDS = 2000

/** The description of a service, with the generations of its layers if `returnUpdates`. */
export function toServiceJson(
  { serviceName }: Service,
  { layers, generation, minGeneration, lastChange }: FeatureData,
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
    extractChangesCapabilities: EXTRACT_CHANGES_CAPABILITIES,
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
export const toFieldJson = ({ name, type, alias, length, nullable, editable }: Field): object => ({
  name,
  type,
  alias,
  ...(length === undefined ? {} : { length }),
  nullable,
  editable,
  domain: null,
  defaultValue: null,
})
