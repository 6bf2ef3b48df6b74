import { z } from 'zod'
import { AdminError } from '../http/errors.ts'
import { CHANGE_METHODS, INTEGER, listOf, READ_METHODS, type Schema, TEXT } from '../http/operation.ts'
import type { UploadedFile } from '../http/request.ts'
import { sendBytes } from '../http/router.ts'
import {
  type AttachmentAdd,
  type AttachmentDelete,
  type AttachmentEdits,
  type AttachmentUpdate,
  type EditContext,
  type FeatureEdits,
  type FeatureRow,
  type LayerResults,
  RESULT_LISTS,
  type Reference,
} from './edit-types.ts'
import { type Attachment, type Feature, MAX_EDITS, toIdText } from './model.ts'
import {
  type FeatureAnswer,
  type FeatureCall,
  type FeatureOperation,
  featureOf,
  flag,
  ids,
  json,
  layerOf,
  object,
  operation,
  required,
  rows,
  text,
  whole,
} from './operation.ts'
import { findFeatures } from './query.ts'

const ROWS = 'JSON array of features, each with attributes and geometry.'
const MODES = {
  rollbackOnFailure: flag('Whether nothing is changed if one row fails. Default true.'),
  returnEditMoment: flag('Whether the response has the time of the edit.'),
}
const ROW_MODES = {
  ...MODES,
  useGlobalIds: flag('Whether rows name features by their global ids. Default false.'),
}

interface Modes extends Pick<EditContext, 'rollbackOnFailure' | 'useGlobalIds'> {
  returnEditMoment?: boolean | undefined
}

/** Null is the same as a missing member. */
const orNull = <T>(schema: z.ZodType<T>): z.ZodType<T | undefined> =>
  schema.nullish().transform((value) => value ?? undefined)
const list = <T>(item: z.ZodType<T>): z.ZodType<T[] | undefined> => orNull(z.array(item))

const globalId = z.string('must be a text')
const BASE64 = 'must be base64; the mock has no uploads'
const file = {
  name: z.string().catch(''),
  contentType: z.string().catch('application/octet-stream'),
  data: z
    .string(BASE64)
    .regex(/^[A-Za-z0-9+/]*={0,2}$/, BASE64)
    .transform((data) => Uint8Array.from(Buffer.from(data, 'base64'))),
}
const addedFile = z
  .object({ ...file, parentGlobalId: globalId, globalId: orNull(globalId) })
  .transform(({ parentGlobalId: parent, data: bytes, ...row }): AttachmentAdd => ({ ...row, parent, bytes }))
const updatedFile = z.object({ ...file, parentGlobalId: orNull(globalId), globalId }).transform(
  ({ parentGlobalId: parent, globalId: attachment, data: bytes, ...row }): AttachmentUpdate => ({
    ...row,
    parent,
    attachment,
    bytes,
  }),
)
const deletedFile = z.unknown().transform((id): AttachmentDelete => ({ attachment: toIdText(id) }))

/** `attachments` of a request, in which global ids name the features and the attachments. */
const attachmentEdits: z.ZodType<AttachmentEdits> = z.object({
  adds: list(addedFile),
  updates: list(updatedFile),
  deletes: list(deletedFile),
})

/** Rows are checked one by one when they are applied. */
const layerEdits: z.ZodType<FeatureEdits> = z
  .object({
    id: z.int(),
    adds: list(z.custom<FeatureRow>()),
    updates: list(z.custom<FeatureRow>()),
    deletes: list(z.custom<Reference>()),
    attachments: orNull(attachmentEdits),
  })
  .transform(({ id: layerId, ...edits }) => ({ layerId, ...edits }))

/** Applies edits, and answers with the results of each layer as JSON. */
function edit(
  { context, user, data }: FeatureCall,
  { rollbackOnFailure = true, useGlobalIds, returnEditMoment }: Modes,
  edits: readonly FeatureEdits[],
  toJson: (results: LayerResults, edits: FeatureEdits) => object,
) {
  const now = context.options.clock.now()
  const { layers, events } = data.apply(edits, {
    username: user.username,
    now,
    rollbackOnFailure,
    useGlobalIds,
  })
  const body = layers.map((results, index) => ({
    ...toJson(results, edits[index] as FeatureEdits),
    ...(returnEditMoment ? { editMoment: now } : {}),
  }))
  return { body, changed: events.length > 0, events }
}

/** Edits the layer that the path names. */
function editLayer(
  call: FeatureCall,
  modes: Modes,
  edits: FeatureEdits,
  toJson: Parameters<typeof edit>[3],
): FeatureAnswer {
  const { body, ...answer } = edit(call, modes, [{ ...edits, layerId: layerOf(call).id }], toJson)
  return { body: body[0] as object, ...answer }
}

/** The results of one layer, with those of its attachments if the request has any. */
const toLayerJson = ({ layerId: _, attachments, ...results }: LayerResults, edits: FeatureEdits): object =>
  edits.attachments ? { ...results, attachments } : results

const EDIT_RESULT = object(
  {
    objectId: { type: ['integer', 'null'] },
    globalId: { type: ['string', 'null'] },
    success: { type: 'boolean' },
    error: object({ code: INTEGER, description: TEXT }),
  },
  ['objectId', 'globalId', 'success'],
)

const resultsSchema = (names: readonly string[], more: Schema = {}): Schema =>
  object(
    {
      ...Object.fromEntries(names.map((name) => [name, listOf(EDIT_RESULT)])),
      editMoment: INTEGER,
      ...more,
    },
    names,
  )

const LAYER_RESULTS = resultsSchema(RESULT_LISTS, { id: INTEGER, attachments: resultsSchema(RESULT_LISTS) })

const applyServiceEdits = operation({
  name: 'applyServiceEdits',
  path: 'applyEdits',
  summary: 'Add, update and delete features of several layers.',
  methods: CHANGE_METHODS,
  parameters: {
    edits: required(
      json(
        z.array(layerEdits).max(MAX_EDITS, `must have at most ${MAX_EDITS} entries`),
        'JSON array with an entry for each layer: id, adds, updates, deletes and attachments.',
      ),
    ),
    ...ROW_MODES,
  },
  response: listOf(LAYER_RESULTS),
  run: (call, { edits, ...modes }) =>
    edit(call, modes, edits, (results, given) => ({ id: results.layerId, ...toLayerJson(results, given) })),
})

const applyLayerEdits = operation({
  name: 'applyLayerEdits',
  path: '{layerId}/applyEdits',
  summary: 'Add, update and delete features of a layer.',
  methods: CHANGE_METHODS,
  parameters: {
    adds: rows(ROWS),
    updates: rows(ROWS),
    deletes: ids('Object ids or, with useGlobalIds, global ids: comma-separated or a JSON array.'),
    attachments: json(
      attachmentEdits,
      'JSON object with adds, updates and deletes of attachments. Adds and updates have data in base64.',
    ),
    ...ROW_MODES,
  },
  response: LAYER_RESULTS,
  run: (call, { adds, updates, deletes, attachments, ...modes }) =>
    editLayer(call, modes, { adds, updates, deletes, attachments }, toLayerJson),
})

/** An operation with the rows of one list of a layer. */
const rowsOperation = (name: string, summary: string, list: 'adds' | 'updates'): FeatureOperation => {
  const results = list === 'adds' ? 'addResults' : 'updateResults'
  return operation({
    name,
    path: `{layerId}/${name}`,
    summary,
    methods: CHANGE_METHODS,
    parameters: { features: required(rows(ROWS)), ...ROW_MODES },
    response: resultsSchema([results]),
    run: (call, { features, ...modes }) =>
      editLayer(call, modes, { [list]: features }, (layer) => ({ [results]: layer[results] })),
  })
}

const deleteFeatures = operation({
  name: 'deleteFeatures',
  path: '{layerId}/deleteFeatures',
  summary: 'Delete features of a layer, by their object ids or by a condition.',
  methods: CHANGE_METHODS,
  parameters: {
    objectIds: ids('Object ids, comma-separated or a JSON array.'),
    where: text('Condition, as in query. With objectIds, both must apply.'),
    ...MODES,
  },
  response: resultsSchema(['deleteResults']),
  run(call, { objectIds, where, ...modes }) {
    const layer = layerOf(call)
    if (!objectIds && where === undefined) throw new AdminError(400, 'objectIds or where is required')
    const deletes =
      where === undefined
        ? objectIds
        : findFeatures(layer, { where, objectIds }).map(({ objectId }) => objectId)
    return editLayer(call, modes, { deletes }, ({ deleteResults }) => ({ deleteResults }))
  },
})

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

const listAttachments = operation({
  name: 'listAttachments',
  path: '{layerId}/{objectId}/attachments',
  summary: 'List the attachments of a feature.',
  methods: READ_METHODS,
  response: object({ attachmentInfos: listOf({ type: 'object' }) }),
  run(call) {
    const feature = featureOf(call)
    const attachmentInfos = Array.from(feature.attachments.values(), (attachment) =>
      toInfo(attachment, feature),
    )
    return { body: { attachmentInfos } }
  },
})

const getAttachment = operation({
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
})

function requireFile({ files }: FeatureCall): UploadedFile {
  const file = files.get('attachment')
  if (file) return file
  throw new AdminError(400, 'send the file as attachment, in multipart/form-data')
}

const FILES = ['attachment']

const addAttachment = operation({
  name: 'addAttachment',
  path: '{layerId}/{objectId}/addAttachment',
  summary: 'Add an attachment to a feature.',
  methods: CHANGE_METHODS,
  files: FILES,
  response: object({ addAttachmentResult: EDIT_RESULT }, []),
  run(call) {
    const adds = [{ parent: featureOf(call).objectId, ...requireFile(call) }]
    return editLayer(call, {}, { attachments: { adds } }, ({ attachments }) => ({
      addAttachmentResult: attachments.addResults[0],
    }))
  },
})

const updateAttachment = operation({
  name: 'updateAttachment',
  path: '{layerId}/{objectId}/updateAttachment',
  summary: 'Replace an attachment of a feature.',
  methods: CHANGE_METHODS,
  files: FILES,
  parameters: { attachmentId: required(whole('Id of the attachment.')) },
  response: object({ updateAttachmentResult: EDIT_RESULT }, []),
  run(call, { attachmentId: attachment }) {
    const updates = [{ parent: featureOf(call).objectId, attachment, ...requireFile(call) }]
    return editLayer(call, {}, { attachments: { updates } }, ({ attachments }) => ({
      updateAttachmentResult: attachments.updateResults[0],
    }))
  },
})

const deleteAttachments = operation({
  name: 'deleteAttachments',
  path: '{layerId}/{objectId}/deleteAttachments',
  summary: 'Delete attachments of a feature.',
  methods: CHANGE_METHODS,
  parameters: {
    attachmentIds: required(ids('Ids of attachments, comma-separated or a JSON array.')),
    rollbackOnFailure: flag('Whether nothing is deleted if one id is unknown. Default true.'),
  },
  response: resultsSchema(['deleteAttachmentResults']),
  run(call, { attachmentIds, ...modes }) {
    const parent = featureOf(call).objectId
    const deletes = attachmentIds.map((id) => ({ parent, attachment: Number(id) }))
    return editLayer(call, modes, { attachments: { deletes } }, ({ attachments }) => ({
      deleteAttachmentResults: attachments.deleteResults,
    }))
  },
})

export const EDIT_OPERATIONS: readonly FeatureOperation[] = [
  applyServiceEdits,
  applyLayerEdits,
  rowsOperation('addFeatures', 'Add features to a layer.', 'adds'),
  rowsOperation(
    'updateFeatures',
    'Update features of a layer. Attributes that a row leaves out keep their values.',
    'updates',
  ),
  deleteFeatures,
  listAttachments,
  getAttachment,
  addAttachment,
  updateAttachment,
  deleteAttachments,
]
