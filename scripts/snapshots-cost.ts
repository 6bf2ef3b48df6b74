// Prints the cost per feature of snapshots.compare() and its commit, in microseconds. Usage:
// node --import tsx scripts/snapshots-cost.ts [number of features] [PostgreSQL URL]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Changes, createSnapshots } from '../src/changes/index.ts'
import type { RowStore } from '../src/inbox/index.ts'
import { createMemoryRows } from '../src/inbox/index.ts'
import { createPostgresRows } from '../src/inbox/postgres/index.ts'
import { createSqliteRows } from '../src/inbox/sqlite/index.ts'

const count = Number(process.argv[2] ?? 20_000)
const service = 'https://gis.example.com/server/rest/services/Parcels/FeatureServer'

/** Changes of parcels with 12 attributes and a polygon of 9 points: about 700 bytes each. */
function changesOf(version: number): Changes {
  const features = Array.from({ length: count }, (_, index) => ({
    attributes: {
      OBJECTID: index,
      GlobalID: `{CF08A8A5-0D5F-4C2B-9A5B-${String(index).padStart(12, '0')}}`,
      name: `parcel ${index}`,
      version,
      ...Object.fromEntries(
        Array.from({ length: 8 }, (_, field) => [`field_${field}`, `value ${index * field}`]),
      ),
    },
    geometry: { rings: [Array.from({ length: 9 }, (_, point) => [index + point / 7, point * 1.000001])] },
  }))
  return {
    layers: [
      {
        service,
        id: 0,
        adds: [],
        updates: features,
        deletes: { ids: [] },
        attachments: { adds: [], updates: [], deleteIds: [] },
      },
    ],
    layerServerGens: [{ service, id: 0, serverGen: version }],
  }
}

async function measure(name: string, store: RowStore): Promise<void> {
  const snapshots = createSnapshots({ store })
  await snapshots.forget(service)
  for (const [round, version] of ['first', 'changed', 'changed again'].entries()) {
    const changes = changesOf(round)
    const runs: (() => unknown)[] = []
    const begin = performance.now()
    await snapshots.compare(changes, { onSuccess: (run) => void runs.push(run) })
    const compared = performance.now()
    for (const run of runs) await run()
    const micro = (milliseconds: number): string => ((milliseconds * 1_000) / count).toFixed(1)
    const [comparing, writing] = [micro(compared - begin), micro(performance.now() - compared)]
    console.log(`${name}, ${version}: compare ${comparing} µs, commit ${writing} µs per feature`)
  }
  await snapshots.forget(service)
  await store.close()
}

const folder = mkdtempSync(join(tmpdir(), 'snapshots-'))
await measure('memory', createMemoryRows())
await measure('SQLite', createSqliteRows({ path: join(folder, 'rows.db') }))
rmSync(folder, { recursive: true })
const [connectionString] = process.argv.slice(3)
if (connectionString)
  await measure('PostgreSQL', createPostgresRows({ connectionString, schema: 'snapshots_cost' }))
