import { AdminError } from '../http/errors.ts'
import { CHANGE_METHODS, optional, READ_METHODS, required } from '../http/operation.ts'
import { readBoolean, single, type UploadedFile } from '../http/request.ts'
import { sendBytes } from '../http/router.ts'
import type { AttachmentEdits, EditResults, LayerEdits, LayerResults, Results } from './edits.ts'
import type { Attachment, Feature } from './model.ts'
import {
  ATTACHMENT_INFOS,
  BOOLEAN,
  EDIT_RESULT,
  EDIT_RESULTS,
  type FeatureAnswer,
  type FeatureCall,
  type FeatureOperation,
  LAYER_RESULTS,
  layerOf,
  readContext,
  readIds,
  readLayerEdits,
  readRows,
  readServiceEdits,
} from './operation.ts'
import { findFeatures } from './query.ts'

const ROLLBACK = optional(
  'rollbackOnFailure',
  'Whether nothing is changed if one row fails. Default true.',
  BOOLEAN,
)
const GLOBAL_IDS = optional(
  'useGlobalIds',
  'Whether rows name features by their global ids. Default false.',
  BOOLEAN,
)
const MOMENT = optional('returnEditMoment', 'Whether the response has the time of the edit.', BOOLEAN)

const ROWS = 'JSON array of features, each with attributes and geometry.'

/** Applies edits, and answers with a part of the results. */
function edit(
  call: FeatureCall,
  edits: LayerEdits[],
  answer: (results: EditResults) => object,
): FeatureAnswer {
  const context = readContext(call)
  const results = call.data.apply(edits, context)
  const moment = readBoolean(call.parameters, 'returnEditMoment') ? { editMoment: context.now } : {}
  const body = answer(results)
  return {
    body: Array.isArray(body) ? body.map((layer) => ({ ...layer, ...moment })) : { ...body, ...moment },
    changed: results.events.length > 0,
    events: results.events,
  }
}

/** One list of the results of the only layer. */
const only =
  (name: keyof Results) =>
  ({ layers: [layer] }: EditResults): object => ({ [name]: layer?.[name] })

/** The results of one layer, with those of its attachments if the request has any. */
const toLayerJson = ({ layerId: _, attachments, ...results }: LayerResults, edits: LayerEdits): object =>
  edits.attachments ? { ...results, attachments } : results

const applyServiceEdits: FeatureOperation = {
  name: 'applyServiceEdits',
  path: 'applyEdits',
  summary: 'Add, update and delete features of several layers.',
  methods: CHANGE_METHODS,
  parameters: [
    required('edits', 'JSON array with an entry for each layer: id, adds, updates, deletes and attachments.'),
    ROLLBACK,
    GLOBAL_IDS,
    MOMENT,
  ],
  response: { type: 'array', items: LAYER_RESULTS },
  run(call) {
    const edits = readServiceEdits(call.parameters)
    return edit(call, edits, ({ layers }) =>
      layers.map((layer, index) => ({
        id: layer.layerId,
        ...toLayerJson(layer, edits[index] as LayerEdits),
      })),
    )
  },
}

const applyLayerEdits: FeatureOperation = {
  name: 'applyLayerEdits',
  path: '{layerId}/applyEdits',
  summary: 'Add, update and delete features of a layer.',
  methods: CHANGE_METHODS,
  parameters: [
    optional('adds', ROWS),
    optional('updates', ROWS),
    optional('deletes', 'Object ids or, with useGlobalIds, global ids: comma-separated or a JSON array.'),
    optional(
      'attachments',
      'JSON object with adds, updates and deletes of attachments. Adds and updates have data in base64.',
    ),
    ROLLBACK,
    GLOBAL_IDS,
    MOMENT,
  ],
  response: LAYER_RESULTS,
  run(call) {
    const edits = readLayerEdits(call.parameters, layerOf(call).id)
    return edit(call, [edits], ({ layers: [layer] }) => toLayerJson(layer as LayerResults, edits))
  },
}

const addFeatures: FeatureOperation = {
  name: 'addFeatures',
  path: '{layerId}/addFeatures',
  summary: 'Add features to a layer.',
  methods: CHANGE_METHODS,
  parameters: [required('features', ROWS), ROLLBACK, GLOBAL_IDS, MOMENT],
  response: EDIT_RESULTS('addResults'),
  run: (call) => edit(call, [{ layerId: layerOf(call).id, adds: requiredRows(call) }], only('addResults')),
}

const updateFeatures: FeatureOperation = {
  ...addFeatures,
  name: 'updateFeatures',
  path: '{layerId}/updateFeatures',
  summary: 'Update features of a layer. Attributes that a row leaves out keep their values.',
  response: EDIT_RESULTS('updateResults'),
  run: (call) =>
    edit(call, [{ layerId: layerOf(call).id, updates: requiredRows(call) }], only('updateResults')),
}

const deleteFeatures: FeatureOperation = {
  name: 'deleteFeatures',
  path: '{layerId}/deleteFeatures',
  summary: 'Delete features of a layer, by their object ids or by a condition.',
  methods: CHANGE_METHODS,
  parameters: [
    optional('objectIds', 'Object ids, comma-separated or a JSON array.'),
    optional('where', 'Condition, as in query. With objectIds, both must apply.'),
    ROLLBACK,
    MOMENT,
  ],
  response: EDIT_RESULTS('deleteResults'),
  run(call) {
    const layer = layerOf(call)
    const objectIds = readIds(call.parameters, 'objectIds')
    const where = single(call.parameters, 'where')
    if (!objectIds && where === undefined) throw new AdminError(400, 'objectIds or where is required')
    const deletes =
      where === undefined
        ? objectIds
        : findFeatures(layer, { where, objectIds }).map(({ objectId }) => objectId)
    return edit(call, [{ layerId: layer.id, deletes }], only('deleteResults'))
  },
}

function requiredRows({ parameters }: FeatureCall): unknown[] {
  const features = readRows(parameters, 'features')
  if (features) return features
  throw new AdminError(400, 'features is required')
}

export const EDIT_OPERATIONS: readonly FeatureOperation[] = [
  applyServiceEdits,
  applyLayerEdits,
  addFeatures,
  updateFeatures,
  deleteFeatures,
]

function featureOf(call: FeatureCall): Feature {
  const feature = layerOf(call).features.get(Number(call.path.objectId))
  if (feature) return feature
  throw new AdminError(404, 'the feature does not exist')
}

/** An attachment without its bytes, as JSON. */
const toInfo = ({ id, globalId, name, contentType, size }: Attachment, parent: Feature): object => ({
  id,
  globalId,
  parentGlobalId: parent.globalId,
  name,
  contentType,
  size,
  keywords: '',
})

const listAttachments: FeatureOperation = {
  name: 'listAttachments',
  path: '{layerId}/{objectId}/attachments',
  summary: 'List the attachments of a feature.',
  methods: READ_METHODS,
  response: ATTACHMENT_INFOS,
  run(call) {
    const feature = featureOf(call)
    return {
      body: {
        attachmentInfos: [...feature.attachments.values()].map((attachment) => toInfo(attachment, feature)),
      },
    }
  },
}

const getAttachment: FeatureOperation = {
  name: 'getAttachment',
  path: '{layerId}/{objectId}/attachments/{attachmentId}',
  summary: 'The bytes of an attachment.',
  methods: READ_METHODS,
  response: 'application/octet-stream',
  run(call) {
    const attachment = featureOf(call).attachments.get(Number(call.path.attachmentId))
    if (!attachment) throw new AdminError(404, 'the attachment does not exist')
    const { contentType, bytes, name } = attachment
    return {
      send(res) {
        sendBytes(res, bytes, {
          'content-type': contentType,
          'content-disposition': `inline; filename*=UTF-8''${encodeURIComponent(name)}`,
          // An attachment can be a page with a script.
          'content-security-policy': "sandbox; default-src 'none'",
        })
      },
    }
  },
}

/** Edits the attachments of a feature. Changes of a failed row are never kept, so nothing is rolled back. */
function editAttachments(
  call: FeatureCall,
  attachments: AttachmentEdits,
  answer: (results: Results) => object,
): FeatureAnswer {
  const { layers, events } = call.data.apply([{ layerId: layerOf(call).id, attachments }], readContext(call))
  return {
    body: answer(layers[0]?.attachments as Results),
    changed: events.length > 0,
    events,
  }
}

const FILES = ['attachment']

const addAttachment: FeatureOperation = {
  name: 'addAttachment',
  path: '{layerId}/{objectId}/addAttachment',
  summary: 'Add an attachment to a feature.',
  methods: CHANGE_METHODS,
  files: FILES,
  response: { type: 'object', properties: { addAttachmentResult: EDIT_RESULT } },
  run: (call) =>
    editAttachments(
      call,
      { adds: [{ parent: featureOf(call).objectId, ...requireFile(call) }] },
      ({ addResults }) => ({
        addAttachmentResult: addResults[0],
      }),
    ),
}

const updateAttachment: FeatureOperation = {
  name: 'updateAttachment',
  path: '{layerId}/{objectId}/updateAttachment',
  summary: 'Replace an attachment of a feature.',
  methods: CHANGE_METHODS,
  parameters: [required('attachmentId', 'Id of the attachment.', { type: 'integer' })],
  files: FILES,
  response: { type: 'object', properties: { updateAttachmentResult: EDIT_RESULT } },
  run(call) {
    const attachment = Number(single(call.parameters, 'attachmentId') ?? Number.NaN)
    if (!Number.isInteger(attachment)) throw new AdminError(400, 'attachmentId must be a whole number')
    const update = { parent: featureOf(call).objectId, attachment, ...requireFile(call) }
    return editAttachments(call, { updates: [update] }, ({ updateResults }) => ({
      updateAttachmentResult: updateResults[0],
    }))
  },
}

const deleteAttachments: FeatureOperation = {
  name: 'deleteAttachments',
  path: '{layerId}/{objectId}/deleteAttachments',
  summary: 'Delete attachments of a feature.',
  methods: CHANGE_METHODS,
  parameters: [
    required('attachmentIds', 'Ids of attachments, comma-separated or a JSON array.'),
    optional('rollbackOnFailure', 'Whether nothing is deleted if one id is unknown. Default true.', {
      type: 'boolean',
    }),
  ],
  response: EDIT_RESULTS('deleteAttachmentResults'),
  run(call) {
    const ids = readIds(call.parameters, 'attachmentIds')
    if (!ids) throw new AdminError(400, 'attachmentIds is required')
    const parent = featureOf(call).objectId
    const deletes = ids.map((id) => ({ parent, attachment: Number(id) }))
    return editAttachments(call, { deletes }, ({ deleteResults }) => ({
      deleteAttachmentResults: deleteResults,
    }))
  },
}

function requireFile({ files }: FeatureCall): UploadedFile {
  const file = files.get('attachment')
  if (file) return file
  throw new AdminError(400, 'send the file as attachment, in multipart/form-data')
}

export const ATTACHMENT_OPERATIONS: readonly FeatureOperation[] = [
  listAttachments,
  getAttachment,
  addAttachment,
  updateAttachment,
  deleteAttachments,
]
