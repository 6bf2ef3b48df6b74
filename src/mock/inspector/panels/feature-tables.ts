import { type Html, html, toCount } from '../../../inspector/html/template.ts'
import type { PanelTools } from '../../../inspector/source.ts'
import type { Change, Feature, Layer } from '../../features/model.ts'
import type { Mock } from '../../service.ts'
import { type Service, servicePath } from '../../state/services.ts'
import { featureEntry, layerEntry } from './feature-entries.ts'

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

export function renderFeatures(mock: Mock, tools: PanelTools): Html {
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
