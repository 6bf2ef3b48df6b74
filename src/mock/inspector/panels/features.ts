import { configInvalid } from '../../../errors.ts'
import { type Html, html, renderTable, toCount } from '../../../inspector/html/template.ts'
import { InspectorError } from '../../../inspector/http.ts'
import type { Done, Field, Panel, PanelTools, Values } from '../../../inspector/source.ts'
import { isObject, tryJson } from '../../../shared/json.ts'
import { createFeatureService } from '../../feature-service.ts'
import { allResults, type EditResult, type FeatureEdits, type FeatureRow } from '../../features/edit-types.ts'
import type { FeatureData } from '../../features/feature-data.ts'
import type { Change, Feature, GeometryType, Layer } from '../../features/model.ts'
import { toFeatureJson } from '../../features/query.ts'
import type { Mock } from '../../service.ts'
import { servicePath } from '../../state/services.ts'
import { afterSave } from './webhooks.ts'

interface LayerOf {
  data: FeatureData
  layer: Layer
}

interface FeatureOf extends LayerOf {
  feature: Feature
}

const layerEntry = ({ service }: FeatureData, layerId: number): string => `${servicePath(service)}/${layerId}`

function layersOf({ state }: Mock): LayerOf[] {
  const services = state.services.list().filter(({ serviceType }) => serviceType === 'FeatureServer')
  return services.flatMap((service) => {
    const data = state.features.of(service)
    return Array.from(data.layers.values(), (layer) => ({ data, layer }))
  })
}

/** Finds the layer that an entry of the panel names, for example `Parcels.FeatureServer/0`. */
function findLayer(mock: Mock, entry: string): LayerOf {
  const found = layersOf(mock).find(({ data, layer }) => layerEntry(data, layer.id) === entry)
  if (found) return found
  throw new InspectorError(404, 'This layer does not exist.')
}

function findFeature(mock: Mock, entry: string): FeatureOf {
  const slash = entry.lastIndexOf('/')
  const found = findLayer(mock, entry.slice(0, slash))
  const feature = found.layer.features.get(Number(entry.slice(slash + 1)))
  if (feature) return { ...found, feature }
  throw new InspectorError(404, 'This feature does not exist. It may have been deleted.')
}

/** Maximum numbers of layers, features and changes that the panel shows. */
const MAX_LAYERS = 100
const MAX_FEATURES = 50
const MAX_CHANGES = 100
/** Maximum length of the values of a feature, in characters. */
const MAX_VALUES = 160

const STEPS = html`<p>No feature service has features yet. Add one here, give a service <code>layers</code> in the seed, start the mock with <code>geohook mock --features parcels.geojson</code>, or use <code>applyEdits</code> of <code>/rest/services/&lt;name&gt;/FeatureServer</code>.</p>
`

const countFeatures = (layers: readonly LayerOf[]): number =>
  layers.reduce((sum, { layer }) => sum + layer.features.size, 0)

function renderFeatures(mock: Mock, { button, time }: PanelTools): Html {
  const all = layersOf(mock)
  if (all.length === 0) return html`<p>There are no feature services.</p>`
  const layers = all.slice(0, MAX_LAYERS)
  const changes = lastChanges(layers)
  const features = lastFeatures(layers, changes)
  const hidden = countFeatures(layers) - features.length
  const layerRows = layers.map(({ data, layer: { id, name, features, geometryType } }) => [
    layerEntry(data, id),
    name,
    toCount(features.size, geometryType?.replace('esriGeometry', '').toLowerCase() ?? 'row'),
    data.generation,
    button('add', layerEntry(data, id)),
  ])
  const featureRows = features.map(({ data, layer, feature }) => {
    const entry = `${layerEntry(data, layer.id)}/${feature.objectId}`
    const { [layer.systemFields.editDate]: date, [layer.systemFields.editor]: editor } = feature.attributes
    return [
      entry,
      valuesText(layer, feature),
      feature.attachments.size,
      html`${time(new Date(Number(date)))} ${editor ?? ''}`,
      html`${button('edit', entry)} ${button('delete', entry)}`,
    ]
  })
  const changeRows = changes
    .slice(0, MAX_CHANGES)
    .map(({ data, change }) => [
      change.generation,
      time(new Date(change.when)),
      changeText(change),
      `${layerEntry(data, change.layerId)}/${change.objectId}`,
      change.editor,
    ])
  return html`${countFeatures(layers) === 0 ? STEPS : ''}${renderTable(['Layer', 'Name', 'Features', 'Generation', ''], layerRows)}
${all.length > layers.length ? html`<p>More layers are not shown.</p>` : ''}
${featureRows.length === 0 ? '' : html`<h3>Features</h3>${renderTable(['Feature', 'Values', 'Attachments', 'Edited', ''], featureRows)}`}
${hidden > 0 ? html`<p>${hidden.toLocaleString('en')} more are not shown.</p>` : ''}
${
  changeRows.length === 0
    ? ''
    : html`<h3>History</h3>${renderTable(['Generation', 'Time', 'Change', 'Feature', 'Editor'], changeRows)}
<p>At most ${MAX_CHANGES} changes are shown.</p>`
}`
}

interface ChangeOf {
  data: FeatureData
  change: Change
}

/** Maximum number of changes of a service in which the last features are searched. */
const MAX_SEARCHED = 500

/** The last changes of all services, newest first. */
function lastChanges(layers: readonly LayerOf[]): ChangeOf[] {
  return [...new Set(layers.map(({ data }) => data))]
    .flatMap((data) => {
      const changes = data.changes({ min: data.minGeneration, max: data.generation })
      return changes.slice(-MAX_SEARCHED).map((change) => ({ data, change }))
    })
    .reverse()
    .sort((one, other) => other.change.when - one.change.when)
}

/** The features that changed last, and then others. */
function lastFeatures(layers: readonly LayerOf[], changes: readonly ChangeOf[]): FeatureOf[] {
  const found = new Map<Feature, FeatureOf>()
  for (const { data, change } of changes) {
    const layer = data.layers.get(change.layerId)
    const feature = layer?.features.get(change.objectId)
    if (layer && feature) found.set(feature, { data, layer, feature })
  }
  for (const layer of layers) {
    if (found.size >= MAX_FEATURES) break
    for (const feature of [...layer.layer.features.values()].slice(0, MAX_FEATURES))
      found.set(feature, { ...layer, feature })
  }
  return [...found.values()].slice(0, MAX_FEATURES)
}

function valuesText({ fields, systemFields }: Layer, { attributes, geometry }: Feature): string {
  const system = new Set<string>(Object.values(systemFields))
  const values = fields
    .filter(({ name }) => !system.has(name) && attributes[name] !== null)
    .map(({ name }) => `${name}: ${attributes[name]}`)
  const { x, y } = geometry ?? {}
  const text = [...values, ...(x === undefined ? [] : [`at ${x} ${y}`])].join(', ')
  return text.length > MAX_VALUES ? `${text.slice(0, MAX_VALUES)}…` : text
}

function changeText({ of, kind, fields = [], movesGeometry }: Change): string {
  const details = [...fields.slice(0, 5), ...(movesGeometry ? ['geometry'] : [])].join(', ')
  const what = of === 'feature' ? kind : `${kind} of an attachment`
  return details ? `${what}: ${details}` : what
}

/** The features of the feature services, and the history of their changes. */
export const createFeaturesPanel = (mock: Mock): Panel => ({
  name: 'features',
  title: 'Features',
  summary: async () => toCount(countFeatures(layersOf(mock)), 'feature'),
  render: async (tools) => renderFeatures(mock, tools),
  actions: [
    {
      name: 'add',
      label: 'Add a feature',
      isOnEntry: true,
      fields: (entry) => [featureField(newFeature(findLayer(mock, entry).layer))],
      async run(entry, values) {
        const { data, layer } = findLayer(mock, entry)
        const edits = { layerId: layer.id, adds: [readFeature(values)] }
        return apply(mock, data, edits, (added) => `The feature ${added?.objectId} is added.`)
      },
    },
    {
      name: 'edit',
      label: 'Edit',
      isOnEntry: true,
      fields: (entry) => [featureField(toFeatureJson(findFeature(mock, entry).feature))],
      async run(entry, values) {
        const { data, layer, feature } = findFeature(mock, entry)
        const { attributes, geometry } = readFeature(values)
        const { objectId } = layer.systemFields
        const row = { attributes: { ...attributes, [objectId]: feature.objectId }, geometry }
        const edits = { layerId: layer.id, updates: [row] }
        return apply(mock, data, edits, () => `The feature ${feature.objectId} is edited.`)
      },
    },
    {
      name: 'delete',
      label: 'Delete',
      isOnEntry: true,
      question: (entry) =>
        `Delete the feature ${findFeature(mock, entry).feature.objectId}? It cannot be restored.`,
      async run(entry) {
        const { data, layer, feature } = findFeature(mock, entry)
        const edits = { layerId: layer.id, deletes: [feature.objectId] }
        return apply(mock, data, edits, () => `The feature ${feature.objectId} is deleted.`)
      },
    },
  ],
})

/**
 * Applies edits, saves them, and does not wait for the deliveries.
 *
 * @throws {WebhookError} `config_invalid` if an edit fails
 */
async function apply(
  mock: Mock,
  { service: { folderName, serviceName } }: FeatureData,
  edits: FeatureEdits,
  message: (result: EditResult | undefined) => string,
): Promise<Done> {
  const { layers } = createFeatureService(mock, { folderName, serviceName }).applyEdits(edits)
  const [result] = layers.flatMap(allResults)
  if (result?.error) throw configInvalid(result.error.description)
  return afterSave(mock, message(result))
}

const [A, B, C] = [
  [7.1, 51.4],
  [7.1, 51.5],
  [7.2, 51.5],
]
const EXAMPLES: Readonly<Record<GeometryType, object>> = {
  esriGeometryPoint: { x: 7.1, y: 51.4 },
  esriGeometryMultipoint: { points: [A] },
  esriGeometryPolyline: { paths: [[A, C]] },
  esriGeometryPolygon: { rings: [[A, B, C, A]] },
}

/** A feature with all fields that can be edited, and an example of a geometry. */
const newFeature = ({ fields, geometryType }: Layer): FeatureRow => ({
  attributes: Object.fromEntries(fields.filter(({ editable }) => editable).map(({ name }) => [name, null])),
  ...(geometryType && { geometry: EXAMPLES[geometryType] }),
})

const featureField = (feature: FeatureRow): Field => ({
  name: 'feature',
  label: 'Feature',
  kind: 'multiline',
  value: JSON.stringify(feature, null, 2),
  hint: 'Esri JSON in the spatial reference of the layer. Times are milliseconds since 1970.',
  isRequired: true,
})

/** @throws {WebhookError} `config_invalid` */
function readFeature({ feature = '' }: Values): FeatureRow {
  const row = tryJson(feature)
  if (isObject(row)) return row
  throw configInvalid('the feature is not a JSON object')
}
