import { single } from '../admin/form-fields.ts'
import { CHANGE_METHODS, READ_METHODS } from '../admin/operation.ts'
import { AdminError } from '../http/errors.ts'
import type { UploadedFile } from '../http/multipart.ts'
import type { AttachmentEdits, Results } from './edits.ts'
import type { Attachment, Feature } from './model.ts'
import {
  type FeatureAnswer,
  type FeatureCall,
  type FeatureOperation,
  layerOf,
  optional,
} from './operation.ts'
import { readContext, readIds } from './read-edits.ts'
import { ATTACHMENT_INFOS, EDIT_RESULT, EDIT_RESULTS } from './schemas.ts'

/** @throws {AdminError} 404 */
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
  parameters: [],
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
  parameters: [],
  response: 'application/octet-stream',
  run(call) {
    const attachment = featureOf(call).attachments.get(Number(call.path.attachmentId))
    if (!attachment) throw new AdminError(404, 'the attachment does not exist')
    const { contentType, bytes, name } = attachment
    return {
      send(res) {
        // Express would add a charset to the type.
        res
          .writeHead(200, {
            'cache-control': 'no-store',
            'content-type': contentType,
            'content-length': bytes.length,
            'content-disposition': `inline; filename*=UTF-8''${encodeURIComponent(name)}`,
            // An attachment can be a page with a script.
            'content-security-policy': "sandbox; default-src 'none'",
            'x-content-type-options': 'nosniff',
          })
          .end(bytes)
      },
    }
  },
}

/** Edits the attachments of a feature. Changes of a failed row are never kept, so nothing is rolled back. */
function edit(
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
  parameters: [],
  files: FILES,
  response: { type: 'object', properties: { addAttachmentResult: EDIT_RESULT } },
  run: (call) =>
    edit(call, { adds: [{ parent: featureOf(call).objectId, ...requireFile(call) }] }, ({ addResults }) => ({
      addAttachmentResult: addResults[0],
    })),
}

const updateAttachment: FeatureOperation = {
  name: 'updateAttachment',
  path: '{layerId}/{objectId}/updateAttachment',
  summary: 'Replace an attachment of a feature.',
  methods: CHANGE_METHODS,
  parameters: [
    {
      name: 'attachmentId',
      required: true,
      description: 'Id of the attachment.',
      schema: { type: 'integer' },
    },
  ],
  files: FILES,
  response: { type: 'object', properties: { updateAttachmentResult: EDIT_RESULT } },
  run(call) {
    const attachment = Number(single(call.parameters, 'attachmentId') ?? Number.NaN)
    if (!Number.isInteger(attachment)) throw new AdminError(400, 'attachmentId must be a whole number')
    const update = { parent: featureOf(call).objectId, attachment, ...requireFile(call) }
    return edit(call, { updates: [update] }, ({ updateResults }) => ({
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
    {
      name: 'attachmentIds',
      required: true,
      description: 'Ids of attachments, comma-separated or a JSON array.',
      schema: { type: 'string' },
    },
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
    return edit(call, { deletes }, ({ deleteResults }) => ({ deleteAttachmentResults: deleteResults }))
  },
}

/** @throws {AdminError} 400 */
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
