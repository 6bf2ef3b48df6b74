import { configInvalid } from '../../../errors.ts'
import { type Html, html, toCount } from '../../../inspector/html/template.ts'
import { InspectorError } from '../../../inspector/http.ts'
import type { Done, Field as FormField, Panel, PanelTools, Values } from '../../../inspector/source.ts'
import { createFeatureService, type FeatureService } from '../../feature-service.ts'
import type { EditResult, FeatureEdits, FeatureRow } from '../../features/edits.ts'
import type { Change, Feature, Field, Layer, Value } from '../../features/model.ts'
import type { Mock } from '../../service.ts'
import { type Service, servicePath } from '../../state/services.ts'
import { afterSave } from './webhooks.ts'

/** A layer that an entry of the panel names, for example `Parcels.FeatureServer/0`. */
interface LayerEntry {
  service: Service
  layer: Layer
}

const layerEntry = (service: Service, { id }: Layer): string => `${servicePath(service)}/${id}`

const featureEntry = (service: Service, layer: Layer, { objectId }: Feature): string =>
  `${layerEntry(service, layer)}/${objectId}`

function findLayer({ state }: Mock, entry: string): LayerEntry {
  const slash = entry.lastIndexOf('/')
  const service = state.services.find(entry.slice(0, slash))
  const id = entry.slice(slash + 1)
  const layer =
    service?.serviceType === 'FeatureServer' && /^\d{1,15}$/.test(id)
      ? state.features.of(service).layers.get(Number(id))
      : undefined
  if (service && layer) return { service, layer }
  throw new InspectorError(404, 'This layer does not exist.')
}

function findFeature(mock: Mock, entry: string): LayerEntry & { feature: Feature } {
  const slash = entry.lastIndexOf('/')
  const { service, layer } = findLayer(mock, entry.slice(0, slash))
  const feature = layer.features.get(Number(entry.slice(slash + 1)))
  if (feature) return { service, layer, feature }
  throw new InspectorError(404, 'This feature does not exist. It may have been deleted.')
}

/** Maximum numbers of layers, features and changes that the panel shows. */
const MAX_LAYERS = 100
const MAX_FEATURES = 50
const MAX_CHANGES = 100
/** Maximum length of the values of a feature, in characters. */
const MAX_VALUES = 160

interface LayerOf {
  service: Service
  layer: Layer
  generation: number
}

interface ChangeOf extends Change {
  service: Service
}

const STEPS = html`<p>No feature service has features yet. Add one here, make random edits, give a service <code>layers</code> in the seed, start the mock with <code>geohook mock --features parcels.geojson</code>, or use <code>applyEdits</code> of <code>/rest/services/&lt;name&gt;/FeatureServer</code>.</p>
`

function renderFeatures(mock: Mock, tools: PanelTools): Html {
  const { services, features } = mock.state
  const feature = services.list().filter(({ serviceType }) => serviceType === 'FeatureServer')
  if (feature.length === 0) return html`<p>There are no feature services.</p>`
  const layers = feature.slice(0, MAX_LAYERS).flatMap((service): LayerOf[] => {
    const { layers: own, generation } = features.of(service)
    return [...own.values()].map((layer) => ({ service, layer, generation }))
  })
  const shown = layers.slice(0, MAX_LAYERS)
  const hidden = layers.length - shown.length + Math.max(0, feature.length - MAX_LAYERS)
  const changes = lastChanges(mock, feature.slice(0, MAX_LAYERS))
  return html`${layers.every(({ layer }) => layer.features.size === 0) ? STEPS : ''}${renderLayers(shown, tools)}
${hidden > 0 ? html`<p>More layers are not shown.</p>` : ''}
${renderRows(shown, changes, tools)}
${renderChanges(changes.slice(0, MAX_CHANGES), tools)}`
}

const renderLayers = (layers: readonly LayerOf[], { button }: PanelTools): Html => html`<table>
<thead><tr><th scope="col">Layer</th><th scope="col">Name</th><th scope="col">Features</th><th scope="col">Generation</th><td></td></tr></thead>
<tbody>
${layers.map(
  ({ service, layer, generation }) =>
    html`<tr><th scope="row">${layerEntry(service, layer)}</th><td>${layer.name}</td><td>${toCount(layer.features.size, layer.geometryType?.replace('esriGeometry', '').toLowerCase() ?? 'row')}</td><td>${generation}</td><td>${button('add', layerEntry(service, layer))}</td></tr>
`,
)}</tbody></table>`

/** The last changes of all services, newest first. */
function lastChanges({ state }: Mock, services: readonly Service[]): ChangeOf[] {
  return services
    .flatMap((service) => {
      const { generation: max, minGeneration: min } = state.features.of(service)
      const changes = state.features.of(service).changes({ min, max }).slice(-MAX_SEARCHED)
      return changes.map((change): ChangeOf => ({ ...change, service })).reverse()
    })
    .sort((one, other) => other.when - one.when)
}

/** Maximum number of changes of a service in which the last features are searched. */
const MAX_SEARCHED = 500

interface Row extends LayerOf {
  feature: Feature
}

/** The features that changed last, and then others. */
function lastFeatures(layers: readonly LayerOf[], changes: readonly ChangeOf[]): Row[] {
  const rows = new Map<string, Row>()
  const add = (layer: LayerOf, feature: Feature): boolean => {
    if (rows.size < MAX_FEATURES)
      rows.set(featureEntry(layer.service, layer.layer, feature), { ...layer, feature })
    return rows.size < MAX_FEATURES
  }
  const byEntry = new Map(layers.map((layer) => [layerEntry(layer.service, layer.layer), layer]))
  for (const { service, layerId, objectId } of changes) {
    const layer = byEntry.get(`${servicePath(service)}/${layerId}`)
    const feature = layer?.layer.features.get(objectId)
    if (layer && feature && !add(layer, feature)) break
  }
  for (const layer of layers)
    for (const feature of layer.layer.features.values()) if (!add(layer, feature)) return [...rows.values()]
  return [...rows.values()]
}

function renderRows(layers: readonly LayerOf[], changes: readonly ChangeOf[], tools: PanelTools): Html {
  const rows = lastFeatures(layers, changes)
  if (rows.length === 0) return html``
  const all = layers.reduce((sum, { layer }) => sum + layer.features.size, 0)
  return html`<h3>Features</h3>
<table>
<thead><tr><th scope="col">Feature</th><th scope="col">Values</th><th scope="col">Attachments</th><th scope="col">Edited</th><td></td></tr></thead>
<tbody>
${rows.map((row) => renderRow(row, tools))}</tbody></table>
${all > rows.length ? html`<p>${(all - rows.length).toLocaleString('en')} more are not shown.</p>` : ''}`
}

function renderRow({ service, layer, feature }: Row, { button, time }: PanelTools): Html {
  const entry = featureEntry(service, layer, feature)
  const { editDate, editor } = layer.systemFields
  const { attributes, attachments } = feature
  return html`<tr><th scope="row">${entry}</th><td>${valuesText(layer, feature)}</td><td>${attachments.size}</td><td>${time(new Date(Number(attributes[editDate])))} ${attributes[editor] ?? ''}</td><td>${button('edit', entry)} ${button('delete', entry)}</td></tr>
`
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

const renderChanges = (changes: readonly ChangeOf[], { time }: PanelTools): Html =>
  changes.length === 0
    ? html``
    : html`<h3>History</h3>
<table>
<thead><tr><th scope="col">Generation</th><th scope="col">Time</th><th scope="col">Change</th><th scope="col">Feature</th><th scope="col">Editor</th></tr></thead>
<tbody>
${changes.map(
  (change) =>
    html`<tr><th scope="row">${change.generation}</th><td>${time(new Date(change.when))}</td><td>${changeText(change)}</td><td>${servicePath(change.service)}/${change.layerId}/${change.objectId}</td><td>${change.editor}</td></tr>
`,
)}</tbody></table>
<p>At most ${MAX_CHANGES} changes are shown.</p>`

function changeText({ of, kind, fields = [], movesGeometry }: Change): string {
  const details = [...fields.slice(0, 5), ...(movesGeometry ? ['geometry'] : [])].join(', ')
  const what = of === 'feature' ? kind : `${kind} of an attachment`
  return details ? `${what}: ${details}` : what
}

/** The features of the feature services, and the history of their changes. */
export const createFeaturesPanel = (mock: Mock): Panel => ({
  name: 'features',
  title: 'Features',
  async summary() {
    const { services, features } = mock.state
    const layers = services
      .list()
      .filter(({ serviceType }) => serviceType === 'FeatureServer')
      .flatMap((service) => [...features.of(service).layers.values()])
    const all = layers.reduce((sum, layer) => sum + layer.features.size, 0)
    return toCount(all, 'feature')
  },
  render: async (tools) => renderFeatures(mock, tools),
  actions: [
    {
      name: 'add',
      label: 'Add a feature',
      isOnEntry: true,
      fields: (entry) => featureFields(findLayer(mock, entry).layer),
      async run(entry, values) {
        const { service, layer } = findLayer(mock, entry)
        const edits = { layerId: layer.id, adds: [readFeature(layer, values)] }
        return apply(mock, service, edits, ([result]) => `The feature ${result?.objectId} is added.`)
      },
    },
    {
      name: 'edit',
      label: 'Edit',
      isOnEntry: true,
      fields(entry) {
        const { layer, feature } = findFeature(mock, entry)
        return featureFields(layer, feature)
      },
      async run(entry, values) {
        const { service, layer, feature } = findFeature(mock, entry)
        const edits = { layerId: layer.id, updates: [readFeature(layer, values, feature)] }
        return apply(mock, service, edits, () => `The feature ${feature.objectId} is edited.`)
      },
    },
    {
      name: 'delete',
      label: 'Delete',
      isOnEntry: true,
      question: (entry) =>
        `Delete the feature ${findFeature(mock, entry).feature.objectId}? It cannot be restored.`,
      async run(entry) {
        const { service, layer, feature } = findFeature(mock, entry)
        const edits = { layerId: layer.id, deletes: [feature.objectId] }
        return apply(mock, service, edits, () => `The feature ${feature.objectId} is deleted.`)
      },
    },
  ],
})

const serviceOf = (mock: Mock, { folderName, serviceName, serviceType }: Service): FeatureService =>
  createFeatureService(mock, { folderName, serviceName, serviceType })

/**
 * Applies edits, saves them, and does not wait for the deliveries.
 *
 * @throws {WebhookError} `config_invalid` if an edit fails
 */
async function apply(
  mock: Mock,
  service: Service,
  edits: FeatureEdits,
  message: (results: EditResult[]) => string,
): Promise<Done> {
  const { layers } = serviceOf(mock, service).applyEdits(edits)
  const results = layers.flatMap(({ attachments, ...layer }) =>
    [layer, attachments].flatMap(({ addResults, updateResults, deleteResults }) => [
      ...addResults,
      ...updateResults,
      ...deleteResults,
    ]),
  )
  const failed = results.find(({ error }) => error)
  if (failed?.error) throw configInvalid(failed.error.description)
  return afterSave(mock, message(results))
}

/** A form has at most 100 fields. */
const MAX_SHOWN = 90
/** A larger geometry is not shown, and stays unchanged. */
const MAX_GEOMETRY = 64 * 1024
/** Texts of longer fields get several lines. */
const MAX_LINE = 256

const EXAMPLES: Readonly<Record<string, string>> = {
  esriGeometryPoint: '{"x":7.1,"y":51.4}',
  esriGeometryMultipoint: '{"points":[[7.1,51.4],[7.2,51.4]]}',
  esriGeometryPolyline: '{"paths":[[[7.1,51.4],[7.2,51.5]]]}',
  esriGeometryPolygon: '{"rings":[[[7.1,51.4],[7.1,51.5],[7.2,51.5],[7.1,51.4]]]}',
}

const HINTS: Readonly<Record<string, string>> = {
  esriFieldTypeDate: 'A time like 2026-01-02T03:04:05Z.',
  esriFieldTypeGUID: 'A UUID.',
}

const editableFields = ({ fields }: Layer): Field[] =>
  fields.filter(({ editable }) => editable).slice(0, MAX_SHOWN)

/** Distinguishes attributes from other values of the form. */
const nameOf = ({ name }: Field): string => `attribute.${name}`

const isNumber = ({ type }: Field): boolean => /(Integer|Single|Double)$/.test(type)

/** The fields of the form for a feature; without a feature, those for a new one. */
export function featureFields(layer: Layer, feature?: Feature): FormField[] {
  const attributes = editableFields(layer).map((field): FormField => {
    const { name, alias, length = 0, type, nullable } = field
    return {
      name: nameOf(field),
      label: alias || name,
      kind: isNumber(field) ? 'number' : length > MAX_LINE ? 'multiline' : 'text',
      value: toText(field, feature?.attributes[name]),
      hint: HINTS[type],
      isRequired: !nullable && type !== 'esriFieldTypeString',
    }
  })
  const geometry = geometryText(layer, feature)
  if (geometry === undefined) return attributes
  return [
    ...attributes,
    {
      name: 'geometry',
      label: 'Geometry',
      kind: 'multiline',
      value: geometry,
      hint: `Esri JSON in the spatial reference ${layer.spatialReference.wkid}. Leave empty for none.`,
    },
  ]
}

/** Undefined if the form has no field for the geometry. */
function geometryText({ geometryType }: Layer, feature?: Feature): string | undefined {
  if (geometryType === undefined) return undefined
  if (!feature) return EXAMPLES[geometryType]
  const text = feature.geometry ? JSON.stringify(feature.geometry) : ''
  return text.length > MAX_GEOMETRY ? undefined : text
}

function toText({ type }: Field, value: Value | undefined): string {
  if (value === null || value === undefined) return ''
  return type === 'esriFieldTypeDate' ? new Date(value).toISOString() : String(value)
}

/**
 * Reads the form: all attributes of a new feature that are not empty, or those of a feature that are changed.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function readFeature(layer: Layer, values: Values, feature?: Feature): FeatureRow {
  const attributes: Record<string, Value> = {}
  for (const field of editableFields(layer)) {
    const submitted = values[nameOf(field)]
    const before = toText(field, feature?.attributes[field.name])
    if (submitted === undefined) continue
    // Browsers submit line breaks as CR LF.
    const text = withLineFeeds(submitted)
    if (text !== withLineFeeds(before) || (!feature && !field.nullable))
      attributes[field.name] = toValue(field, text)
  }
  const { objectId } = layer.systemFields
  return {
    attributes: feature ? { ...attributes, [objectId]: feature.objectId } : attributes,
    ...readGeometry(layer, values, feature),
  }
}

const withLineFeeds = (text: string): string => text.replaceAll('\r\n', '\n')

function toValue(field: Field, text: string): Value {
  const { name, type, nullable } = field
  if (text === '') return nullable || type !== 'esriFieldTypeString' ? null : ''
  if (type === 'esriFieldTypeDate') {
    const time = Date.parse(text)
    if (Number.isNaN(time)) throw configInvalid(`${name} must be a time like 2026-01-02T03:04:05Z`)
    return time
  }
  if (!isNumber(field)) return text
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number)) throw configInvalid(`${name} must be a number`)
  return number
}

function readGeometry(
  layer: Layer,
  { geometry }: Values,
  feature: Feature | undefined,
): Pick<FeatureRow, 'geometry'> {
  const before = geometryText(layer, feature)
  if (geometry === undefined || before === undefined || (feature && geometry === before)) return {}
  if (geometry.trim() === '') return { geometry: null }
  try {
    return { geometry: JSON.parse(geometry) }
  } catch {
    throw configInvalid('the geometry is not JSON')
  }
}
