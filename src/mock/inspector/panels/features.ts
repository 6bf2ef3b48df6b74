import { configInvalid } from '../../../errors.ts'
import { toCount } from '../../../inspector/html/template.ts'
import type { Done, Panel } from '../../../inspector/source.ts'
import { createFeatureService, type FeatureEdits, type FeatureService } from '../../feature-service.ts'
import type { EditResult } from '../../features/edits.ts'
import { AdminError, waitForSave } from '../../http/errors.ts'
import type { Mock } from '../../service.ts'
import type { Service } from '../../state/services.ts'
import { findFeature, findLayer } from './feature-entries.ts'
import { featureFields, readFeature } from './feature-fields.ts'
import { renderFeatures } from './feature-tables.ts'

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
  try {
    await waitForSave(mock.save)
    return { message: message(results) }
  } catch (error) {
    if (error instanceof AdminError) return { message: error.message, ok: false }
    throw error
  }
}
