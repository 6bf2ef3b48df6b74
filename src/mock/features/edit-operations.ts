import { single } from '../admin/form-fields.ts'
import { CHANGE_METHODS } from '../admin/operation.ts'
import { AdminError } from '../http/errors.ts'
import type { EditResults, LayerEdits, LayerResults } from './edits.ts'
import {
  BOOLEAN,
  type FeatureAnswer,
  type FeatureCall,
  type FeatureOperation,
  layerOf,
  optional,
  readBoolean,
} from './operation.ts'
import { findFeatures } from './query.ts'
import { readContext, readIds, readLayerEdits, readRows, readServiceEdits } from './read-edits.ts'
import { EDIT_RESULTS, LAYER_RESULTS } from './schemas.ts'

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

const rows = (name: string, required = false): FeatureOperation['parameters'][number] => ({
  name,
  required,
  description: 'JSON array of features, each with attributes and geometry.',
  schema: { type: 'string' },
})

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

/** The results of one layer, with those of its attachments if the request has any. */
const toLayerJson = ({ layerId: _, attachments, ...results }: LayerResults, edits: LayerEdits): object =>
  edits.attachments ? { ...results, attachments } : results

const applyServiceEdits: FeatureOperation = {
  name: 'applyServiceEdits',
  path: 'applyEdits',
  summary: 'Add, update and delete features of several layers.',
  methods: CHANGE_METHODS,
  parameters: [
    {
      name: 'edits',
      required: true,
      description: 'JSON array with an entry for each layer: id, adds, updates, deletes and attachments.',
      schema: { type: 'string' },
    },
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
    rows('adds'),
    rows('updates'),
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
  parameters: [rows('features', true), ROLLBACK, GLOBAL_IDS, MOMENT],
  response: EDIT_RESULTS('addResults'),
  run: (call) =>
    edit(call, [{ layerId: layerOf(call).id, adds: requiredRows(call) }], ({ layers: [layer] }) => ({
      addResults: layer?.addResults,
    })),
}

const updateFeatures: FeatureOperation = {
  ...addFeatures,
  name: 'updateFeatures',
  path: '{layerId}/updateFeatures',
  summary: 'Update features of a layer. Attributes that a row leaves out keep their values.',
  response: EDIT_RESULTS('updateResults'),
  run: (call) =>
    edit(call, [{ layerId: layerOf(call).id, updates: requiredRows(call) }], ({ layers: [layer] }) => ({
      updateResults: layer?.updateResults,
    })),
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
    return edit(call, [{ layerId: layer.id, deletes }], ({ layers: [results] }) => ({
      deleteResults: results?.deleteResults,
    }))
  },
}

/** @throws {AdminError} 400 */
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
