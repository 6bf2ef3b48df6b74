import type { Changes, Feature, FeatureComparison } from 'geohook/changes'
import type { MockService } from 'geohook/mock'

/** What was handled last of a feature. */
interface Handled {
  generation: number
  /** Absent if the feature was deleted. */
  row?: Feature
}

export const keyOf = (globalId: unknown): string => String(globalId).replace(/[{}]/g, '').toLowerCase()

/** The features of the mock by layer and key. */
export function featuresOf(service: MockService): Map<number, Map<string, Feature>> {
  const layers = service.snapshot().featureData?.[0]?.layers ?? []
  return new Map(
    layers.map(({ id, features }) => [
      id,
      new Map(
        features.map(({ globalId, attributes, geometry }) => [
          keyOf(globalId),
          { attributes, ...(geometry && { geometry }) } as Feature,
        ]),
      ),
    ]),
  )
}

/** A plain second implementation of snapshots, with the features of the mock in place of those of the changes. */
export function createModel() {
  const handled = new Map<string, Handled>()

  return {
    /** Expects the features of a comparison by layer and id, and returns a function that records them as handled. */
    compare(service: MockService, changes: Changes) {
      const now = featuresOf(service)
      const expected = new Map<string, FeatureComparison>()
      const generations = new Map<string, number>()
      for (const { id, adds, updates, deletes } of changes.layers) {
        const generation = changes.layerServerGens.find((layer) => layer.id === id)?.serverGen ?? 0
        const added = new Set(adds.map(({ attributes }) => keyOf(attributes.GlobalID)))
        const updated = updates.map(({ attributes }) => keyOf(attributes.GlobalID))
        const deleted = deletes.ids.map(keyOf)
        for (const key of [...added, ...updated, ...deleted]) {
          const name = `${id} ${key}`
          const last = handled.get(name)
          if (last && last.generation > generation) continue
          const after = now.get(id)?.get(key)
          const lastState = deletes.features?.find(({ attributes }) => keyOf(attributes.GlobalID) === key)
          const before = last ? last.row : after ? undefined : lastState
          generations.set(name, generation)
          expected.set(name, {
            id: key,
            kind: after ? (added.has(key) ? 'add' : 'update') : 'delete',
            ...(before && { before }),
            ...(after && { after }),
            ...(before && after && compareRows(before, after)),
          })
        }
      }
      return {
        expected,
        commit() {
          for (const [name, { after }] of expected) {
            const generation = generations.get(name) ?? 0
            if ((handled.get(name)?.generation ?? generation) > generation) continue
            handled.set(name, { generation, ...(after && { row: after }) })
          }
        },
      }
    },
    /** The rows of all features that exist, by layer and key. */
    rows: () => new Map([...handled].flatMap(([name, { row }]) => (row ? [[name, row] as const] : []))),
  }
}

function compareRows(before: Feature, after: Feature): Pick<FeatureComparison, 'changed' | 'moved'> {
  const text = (value: unknown): string => JSON.stringify(value ?? null)
  const names = [...new Set([...Object.keys(before.attributes), ...Object.keys(after.attributes)])]
  return {
    changed: names.filter((name) => text(before.attributes[name]) !== text(after.attributes[name])).sort(),
    moved: text(before.geometry) !== text(after.geometry),
  }
}
