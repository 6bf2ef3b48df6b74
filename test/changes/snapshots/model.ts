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
    /** Begins an attempt, whose comparisons see each other's features. */
    attempt() {
      const pending = new Map<string, Handled>()
      const lastOf = (name: string): Handled | undefined => newer(handled.get(name), pending.get(name))

      return {
        /** Expects the features of a comparison by layer and id. */
        compare(service: MockService, changes: Changes): Map<string, FeatureComparison> {
          const now = featuresOf(service)
          const expected = new Map<string, FeatureComparison>()
          for (const { id, adds, updates, deletes } of changes.layers) {
            const generation = changes.layerServerGens.find((layer) => layer.id === id)?.serverGen ?? 0
            const added = new Set(adds.map(({ attributes }) => keyOf(attributes.GlobalID)))
            const updated = updates.map(({ attributes }) => keyOf(attributes.GlobalID))
            // Object ids are sent only of features that exist again.
            const deleted = deletes.ids.map(keyOf).filter((key) => !/^\d+$/.test(key))
            for (const key of [...added, ...updated, ...deleted]) {
              const name = `${id} ${key}`
              const last = lastOf(name)
              // The same feature may be in two of the lists.
              if (expected.has(name) || (last && last.generation > generation)) continue
              const after = now.get(id)?.get(key)
              const lastState = deletes.features?.find(({ attributes }) => keyOf(attributes.GlobalID) === key)
              const before = last ? last.row : after ? undefined : lastState
              pending.set(name, { generation, ...(after && { row: after }) })
              expected.set(name, {
                id: key,
                kind: after ? (added.has(key) ? 'add' : 'update') : 'delete',
                ...(before && { before }),
                ...(after && { after }),
                ...(before && after && compareRows(before, after)),
              })
            }
          }
          return expected
        },
        lastRow: (name: string): Feature | undefined => lastOf(name)?.row,
        /** Records the features as handled. */
        commit(): void {
          for (const [name, last] of pending) handled.set(name, newer(handled.get(name), last) ?? last)
        },
      }
    },
    /** The rows of all features that exist, by layer and key. */
    rows: () => new Map([...handled].flatMap(([name, { row }]) => (row ? [[name, row] as const] : []))),
  }
}

/** The second one, unless the first has a higher generation. */
const newer = (first: Handled | undefined, second: Handled | undefined): Handled | undefined =>
  first && second ? (first.generation > second.generation ? first : second) : (second ?? first)

function compareRows(before: Feature, after: Feature): Pick<FeatureComparison, 'changed' | 'moved'> {
  const text = (value: unknown): string => JSON.stringify(value ?? null)
  const names = [...new Set([...Object.keys(before.attributes), ...Object.keys(after.attributes)])]
  return {
    changed: names.filter((name) => text(before.attributes[name]) !== text(after.attributes[name])).sort(),
    moved: text(before.geometry) !== text(after.geometry),
  }
}
