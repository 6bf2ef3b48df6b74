import fc from 'fast-check'
import { type Changes, createChanges, createSnapshots, type Feature } from 'geohook/changes'
import type { RowStore } from 'geohook/inbox'
import { createMockService, type LayerSeed, type MockService } from 'geohook/mock'
import { expect } from 'vitest'
import { randomEdits } from '../../helpers/random-edits.ts'
import { toEvent } from '../support.ts'
import { createModel, featuresOf, keyOf } from './model.ts'

/** A window of generations, each from 0 (the oldest) to 1 (now). */
interface Window {
  begin: number
  end: number
}

/** An attempt to handle a delivery. */
interface Handling {
  kind: 'handle'
  /** The windows of its events. Features are edited between their extractions. */
  windows: Window[]
  deletedFeatures: boolean
  /** True if the service also sends deletions of features that were added again. */
  sendsReturned: boolean
  /** How many attempts fail before the one that succeeds. */
  failures: number
  /** True if another delivery is handled before this one has succeeded. */
  isLate: boolean
}

type Step = { kind: 'edit'; seed: number; count: number } | { kind: 'readd'; target: number } | Handling

const handling: fc.Arbitrary<Handling> = fc.record({
  kind: fc.constant('handle'),
  windows: fc.array(
    fc.record({ begin: fc.constantFrom(0, 0.3, 0.6, 0.9), end: fc.constantFrom(1, 1, 1, 0.5, 0.8) }),
    { minLength: 1, maxLength: 3 },
  ),
  deletedFeatures: fc.boolean(),
  sendsReturned: fc.boolean(),
  failures: fc.constantFrom(0, 0, 1, 2),
  isLate: fc.constantFrom(false, false, true),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('edit'),
      seed: fc.nat(2 ** 31),
      count: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('readd'), target: fc.nat(20) }) },
  { weight: 4, arbitrary: handling },
)
const history = fc.array(step, { minLength: 3, maxLength: 16 })

const fields = [
  { name: 'name', type: 'esriFieldTypeString' },
  { name: 'count', type: 'esriFieldTypeInteger' },
  { name: 'height', type: 'esriFieldTypeDouble' },
] as const
const LAYERS: LayerSeed[] = [
  { id: 0, name: 'Points', geometryType: 'esriGeometryPoint', fields },
  { id: 1, name: 'Table', fields },
]

/** Runs random histories. fast-check prints the seed and path of a failure; set `seed` in the options to repeat it. */
export const checkHistories = (open: () => RowStore, numRuns: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(history, (steps) => runHistory(steps, open)),
    { numRuns, verbose: 1 },
  )

async function runHistory(steps: readonly Step[], open: () => RowStore): Promise<void> {
  const service = createMockService({
    services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers: LAYERS }],
    extractChanges: { polls: 1 },
  })
  const store = open()
  try {
    const url = `${await service.listen()}/rest/services/Parcels/FeatureServer`
    await store.forget(url)
    const subject = createSubject(url, service, store)
    for (const step of steps) {
      if (step.kind === 'edit') edit(service, step)
      else if (step.kind === 'readd') readd(service, step.target, subject)
      else await subject.handle(step)
      subject.watch()
    }
    await subject.handle({ ...ALL, failures: 1 })
    await subject.commitLate()
    await subject.handle(ALL)
    await subject.expectComplete()
  } finally {
    await service.close()
    await store.close()
  }
}

const ALL: Handling = {
  kind: 'handle',
  windows: [{ begin: 0, end: 1 }],
  deletedFeatures: false,
  sendsReturned: true,
  failures: 0,
  isLate: false,
}

interface DeletedFeature {
  layerId: number
  globalId: string
  objectId: number
}

/** Snapshots and a model of them that handle the same changes of a mock. */
function createSubject(url: string, service: MockService, store: RowStore) {
  const model = createModel()
  const snapshots = createSnapshots({ store })
  const clients = [false, true].map((deletedFeatures) =>
    createChanges({ origins: [new URL(url).origin], deletedFeatures, pollInterval: { min: 1, max: 2 } }),
  )
  /** The commits of late attempts. */
  let late: (() => Promise<void>)[] = []
  /** The object ids of all features, by layer and global id. */
  let known = new Map<string, number>()
  /** Number of edits within attempts, which is also their seed. */
  let edits = 0
  const deleted: DeletedFeature[] = []
  /** The object ids before the deletion of features that were added again, by layer and key. */
  const returned = new Map<string, number>()

  const readWindow = async ({ begin, end }: Window): Promise<string> => {
    const { changeTrackingInfo } = await (await fetch(`${url}?f=json&returnUpdates=true`)).json()
    const { minServerGen: min, serverGen: max } = changeTrackingInfo.layerServerGens[0]
    const at = (part: number): number => min + Math.floor((max - min) * part)
    return JSON.stringify([at(Math.min(begin, end)), at(end)])
  }

  async function extract(window: Window, deletedFeatures: boolean): Promise<Changes> {
    const query = new URLSearchParams({
      serverGens: await readWindow(window),
      returnDeletedFeatures: 'true',
    })
    const event = toEvent(`${url}/extractChanges?${query}`)
    return (clients[Number(deletedFeatures)] as (typeof clients)[0]).of(event)
  }

  /** Adds the deletions of features that exist again, by their global ids or earlier object ids. */
  function addReturned({ layers }: Changes, lastRow: (name: string) => Feature | undefined): void {
    for (const { id, adds, deletes } of layers)
      for (const { attributes } of adds) {
        const name = `${id} ${keyOf(attributes.GlobalID)}`
        const objectId = returned.get(name)
        if (objectId === undefined) continue
        const last = lastRow(name)
        const isKnown = last?.attributes.OBJECTID === objectId
        deletes.ids.push(isKnown && objectId % 2 ? String(objectId) : String(attributes.GlobalID))
        if (isKnown) deletes.features?.push(last)
      }
  }

  /** Compares the changes of each window in a new attempt. @returns a function that ends the attempt with success */
  async function attempt({
    windows,
    deletedFeatures,
    sendsReturned,
  }: Handling): Promise<() => Promise<void>> {
    const successes: (() => unknown)[] = []
    const context = {
      signal: new AbortController().signal,
      onSuccess: (run: () => unknown) => void successes.push(run),
    }
    const expectation = model.attempt()
    for (const [index, window] of windows.entries()) {
      if (index > 0) edit(service, { seed: edits++, count: 3 })
      const changes = await extract(window, deletedFeatures)
      if (sendsReturned) addReturned(changes, expectation.lastRow)
      const [layers, again] = await Promise.all([
        snapshots.compare(changes, context),
        snapshots.compare(changes, context),
      ])
      expect(again).toBe(layers)
      expect(successes).toHaveLength(index + 1)
      const expected = expectation.compare(service, changes)
      const features = layers.flatMap(({ service: of, id, features }) => {
        expect(of).toBe(url)
        return features.map((feature) => [
          `${id} ${feature.id}`,
          { ...feature, ...(feature.changed && { changed: feature.changed.toSorted() }) },
        ])
      })
      expect(Object.fromEntries(features)).toEqual(Object.fromEntries(expected))
      expect(features).toHaveLength(expected.size)
    }
    return async () => {
      for (const run of successes.reverse()) await run()
      expectation.commit()
    }
  }

  async function commitLate(): Promise<void> {
    for (const commit of late.reverse()) await commit()
    late = []
  }

  return {
    deleted,
    returned,
    commitLate,
    async handle(handling: Handling): Promise<void> {
      for (let failures = 0; failures < handling.failures; failures++) await attempt(handling)
      const commit = await attempt(handling)
      if (handling.isLate) {
        late.push(commit)
        return
      }
      await commit()
      await commitLate()
    },
    /** Remembers the features that were deleted. */
    watch(): void {
      const layers = service.snapshot().featureData?.[0]?.layers ?? []
      const now = new Map(
        layers.flatMap(({ id, features }) =>
          features.map(({ globalId, attributes }) => [`${id} ${globalId}`, Number(attributes.OBJECTID)]),
        ),
      )
      for (const [name, objectId] of known)
        if (!now.has(name)) deleted.push({ layerId: Number(name[0]), globalId: name.slice(2), objectId })
      known = now
    },
    /** Every feature of the mock has been handled as it is now. */
    async expectComplete(): Promise<void> {
      const rows = model.rows()
      for (const [id, features] of featuresOf(service)) {
        for (const [key, feature] of features) expect(rows.get(`${id} ${key}`)).toEqual(feature)
        const stored = await store.read({ service: url, id }, [...features.keys()], [])
        expect(new Map(stored.map(({ key, value }) => [key, JSON.parse(value ?? '')]))).toEqual(features)
      }
      expect(rows.size).toBe([...featuresOf(service).values()].reduce((sum, { size }) => sum + size, 0))
    },
  }
}

function edit(service: MockService, { seed, count }: { seed: number; count: number }): void {
  service.features('Parcels').applyEdits(randomEdits(service, { seed, count }))
}

/** Adds a deleted feature again with its global id. */
function readd(
  service: MockService,
  target: number,
  { deleted, returned }: { deleted: DeletedFeature[]; returned: Map<string, number> },
): void {
  const [feature] = deleted.splice(target % Math.max(1, deleted.length), 1)
  if (!feature) return
  returned.set(`${feature.layerId} ${keyOf(feature.globalId)}`, feature.objectId)
  const adds = [{ attributes: { name: `again ${target}`, GlobalID: feature.globalId } }]
  service.features('Parcels').applyEdits({ layerId: feature.layerId, adds }, { useGlobalIds: true })
}
