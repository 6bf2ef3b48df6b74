/** JSON Schemas of the responses of feature services, for the OpenAPI document. */

type Schema = Readonly<Record<string, unknown>>

const NUMBER = { type: 'number' }
const TEXT = { type: 'string' }
const listOf = (items: Schema): Schema => ({ type: 'array', items })

/** The result of one row. */
export const EDIT_RESULT: Schema = {
  type: 'object',
  properties: {
    objectId: { type: ['integer', 'null'] },
    globalId: { type: ['string', 'null'] },
    success: { type: 'boolean' },
    error: {
      type: 'object',
      properties: { code: { type: 'integer' }, description: TEXT },
      required: ['code', 'description'],
    },
  },
  required: ['objectId', 'globalId', 'success'],
}

/** An object with lists of results. */
export const EDIT_RESULTS = (...names: string[]): Schema => ({
  type: 'object',
  properties: {
    ...Object.fromEntries(names.map((name) => [name, listOf(EDIT_RESULT)])),
    editMoment: { type: 'integer' },
  },
  required: names,
})

const ALL_RESULTS = EDIT_RESULTS('addResults', 'updateResults', 'deleteResults')

export const LAYER_RESULTS: Schema = {
  ...ALL_RESULTS,
  properties: { ...(ALL_RESULTS.properties as object), id: { type: 'integer' }, attachments: ALL_RESULTS },
}

export const FEATURE: Schema = {
  type: 'object',
  properties: { attributes: { type: 'object' }, geometry: { type: 'object' } },
  required: ['attributes'],
}

/** The response of `query`: features, ids or a count. */
export const QUERY_RESULT: Schema = {
  type: 'object',
  properties: {
    objectIdFieldName: TEXT,
    globalIdFieldName: TEXT,
    geometryType: TEXT,
    spatialReference: { type: 'object', properties: { wkid: NUMBER } },
    fields: listOf({ type: 'object' }),
    features: listOf(FEATURE),
    exceededTransferLimit: { type: 'boolean' },
    objectIds: listOf({ type: 'integer' }),
    count: { type: 'integer' },
  },
}

export const ATTACHMENT_INFOS: Schema = {
  type: 'object',
  properties: {
    attachmentInfos: listOf({
      type: 'object',
      properties: {
        id: { type: 'integer' },
        globalId: TEXT,
        parentGlobalId: TEXT,
        name: TEXT,
        contentType: TEXT,
        size: { type: 'integer' },
      },
    }),
  },
  required: ['attachmentInfos'],
}
