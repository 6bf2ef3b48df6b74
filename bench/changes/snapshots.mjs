import assert from 'node:assert/strict'
import { createSnapshots } from '../../dist/changes.js'
import { createMemoryRows } from '../../dist/inbox.js'
import { spread, times } from '../lib/format.mjs'
import { interleave, ratio, summarize } from '../lib/rounds.mjs'
import { createFeature } from './documents.mjs'

const SERVICE = 'https://gis.example/rest/services/Parcels/FeatureServer'
const KINDS = ['new', 'unchanged', 'changed']

/** Functions that open a row store in the database of an engine. */
const STORES = {
  memory: async () => createMemoryRows(),
  sqlite: async ({ path }) => (await import('../../dist/sqlite.js')).createSqliteRows({ path }),
  postgres: async ({ connectionString, schema }) =>
    (await import('../../dist/postgres.js')).createPostgresRows({ connectionString, schema }),
}

/** The result of `changes.of()` with updates of one layer. */
function createChanges(layer, updates, serverGen) {
  const attachments = { adds: [], updates: [], deleteIds: [] }
  return {
    layers: [{ service: SERVICE, id: layer, adds: [], updates, deletes: { ids: [] }, attachments }],
    layerServerGens: [{ service: SERVICE, id: layer, serverGen }],
  }
}

/** Compares and commits features. Returns the microseconds per feature. Fails if the comparison is wrong. */
async function compare(snapshots, changes, kind) {
  const commits = []
  const started = performance.now()
  const [{ features }] = await snapshots.compare(changes, { onSuccess: (run) => commits.push(run) })
  for (const commit of commits) await commit()
  const milliseconds = performance.now() - started
  const { length } = changes.layers[0].updates
  const expected = { new: undefined, unchanged: '', changed: 'notes' }[kind]
  assert.equal(features.length, length)
  assert.ok(
    features.every(({ changed }) => changed?.join() === expected),
    `the features are ${kind}`,
  )
  return (milliseconds / length) * 1000
}

/** Compares the rows of a new layer three times: first they are new, then unchanged, then one attribute has changed. */
async function measureRound({ snapshots }, layer, rows) {
  const create = (notes) =>
    Array.from({ length: rows }, (_, index) => {
      const feature = createFeature('ASCII', index + 1)
      if (notes) feature.attributes.notes = notes
      return feature
    })
  const figures = {}
  for (const [index, kind] of KINDS.entries()) {
    const changes = createChanges(layer, create(kind === 'changed' ? 'sold' : undefined), index + 1)
    figures[kind] = await compare(snapshots, changes, kind)
  }
  return figures
}

/** @param {readonly { name: string, store: object }[]} engines as in `bench/inbox/engines.mjs` */
export async function measureSnapshots(engines, { rows, rounds }) {
  const subjects = []
  try {
    for (const { name, store } of engines.filter(({ name }) => STORES[name])) {
      const rowStore = await STORES[name](store.options)
      subjects.push({ name, rowStore, snapshots: createSnapshots({ store: rowStore }) })
    }
    let layer = 0
    const measured = await interleave(subjects, {
      rounds,
      measure: (subject) => measureRound(subject, layer++, rows),
    })
    const memory = subjects.find(({ name }) => name === 'memory')
    return KINDS.flatMap((kind) =>
      subjects.map((subject) => {
        const of = (other) => measured.get(other).map((figures) => figures[kind])
        return {
          name: subject.name,
          kind,
          microseconds: summarize(of(subject)),
          ratio: memory && ratio(of(subject), of(memory)),
        }
      }),
    )
  } finally {
    for (const { rowStore } of subjects) await rowStore.close()
  }
}

/** @param {Awaited<ReturnType<typeof measureSnapshots>>} results */
export function toSnapshotsTable(results, rows) {
  return {
    title: `changes: microseconds to compare and store one feature with snapshots, ${rows.toLocaleString('en-US')} features at once`,
    columns: ['features', 'store', 'µs per feature', 'vs memory'],
    rows: results.map(({ name, kind, microseconds, ratio }) => [
      kind,
      name,
      spread(microseconds),
      ratio ? times(ratio) : '-',
    ]),
  }
}
