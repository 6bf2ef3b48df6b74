// Measures geohook/changes: time and memory of a large extraction, snapshots, and coalesced deliveries.
import { measureCoalescing, toCoalescingTable } from '../changes/coalesce.mjs'
import { openEngines, removeEngines } from '../changes/engines.mjs'
import { measureExtraction, toExtractionTable } from '../changes/extract.mjs'
import { measureSnapshots, toSnapshotsTable } from '../changes/snapshots.mjs'
import { GOALS, goalOf } from '../goals.mjs'
import { sqliteVersion, versionsOf } from '../lib/versions.mjs'

const FULL = {
  extraction: { edits: 100_000, rounds: 4, memoryRounds: 2 },
  snapshots: { rows: 10_000, rounds: 3 },
  coalescing: { rounds: 2 },
}
const SMOKE = {
  extraction: { edits: 1_000, rounds: 1, memoryRounds: 1 },
  snapshots: { rows: 100, rounds: 1 },
  coalescing: { rounds: 1 },
}

/** The figures of goals: a job is the usual answer, and a document outside Latin-1 needs the most memory. */
function toFigures(extraction, coalescing) {
  const jobs = extraction.filter(({ document, reader }) => document.answer === 'job' && reader === 'geohook')
  const id = ({ document }) => document.script.replace('non-Latin', 'nonLatin')
  return Object.fromEntries([
    ...jobs.flatMap((job) => [
      [`changes/memory/${id(job)}`, job.peak],
      [`changes/time/${id(job)}`, job.ratio],
    ]),
    ...coalescing.map(({ name, ratio }) => [`changes/coalesced/${name}`, ratio]),
  ])
}

const toPoint = (series, x, { median, low, high }) => ({ series, x, y: median, low, high })

function toPlots(extraction, snapshots) {
  const memory = extraction.filter(({ document }) => document.answer === 'job')
  return [
    {
      name: 'changes-memory',
      title: 'changes: peak memory of a window of 100,000 edits',
      kind: 'bars',
      x: '',
      y: 'times the size of the document',
      goals: [{ y: goalOf('changes/memory/ASCII') }],
      points: memory.map(({ document, reader, peak }) =>
        toPoint(document.script, reader === 'geohook' ? 'geohook/changes' : 'JSON.parse by hand', peak),
      ),
    },
    {
      name: 'changes-snapshots',
      title: 'changes: comparing and storing one feature with snapshots',
      kind: 'bars',
      x: '',
      y: 'µs per feature',
      points: snapshots.map(({ name, kind, microseconds }) => toPoint(kind, name, microseconds)),
    },
  ]
}

/** @type {import('../lib/part.mjs').Run} */
export async function run({ smoke, say, engines: requested }) {
  const plan = smoke ? SMOKE : FULL
  const engines = await openEngines(requested, say)
  try {
    say(`extracting ${plan.extraction.edits} edits`)
    const extraction = await measureExtraction(plan.extraction)
    say('measuring snapshots')
    const snapshots = await measureSnapshots(engines, plan.snapshots)
    say('measuring coalesced deliveries')
    const coalescing = await measureCoalescing(engines, plan.coalescing)
    const figures = toFigures(extraction, coalescing)
    return {
      tables: [
        toExtractionTable(extraction, plan.extraction.edits),
        toSnapshotsTable(snapshots, plan.snapshots.rows),
        toCoalescingTable(coalescing),
      ].filter(({ rows }) => rows.length > 0),
      figures,
      leftOut: GOALS.map(({ id }) => id).filter((id) => id.startsWith('changes/coalesced/') && !figures[id]),
      plots: toPlots(extraction, snapshots).filter(({ points }) => points.length > 0),
      versions: { ...sqliteVersion(), ...versionsOf(['pg', 'pg-boss', 'ioredis', 'bullmq']) },
    }
  } finally {
    await removeEngines(engines)
  }
}
