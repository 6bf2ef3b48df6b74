// Time and memory of `changes.of()`, and of code by hand, for a window with many edits.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { start, withProcesses } from './child.mjs'
import { digits, number, spread, times } from './report.mjs'
import { interleave, ratio, summarize } from './rounds.mjs'

const FULL = { edits: 100_000, rounds: 6, memoryRounds: 2 }
const SMOKE = { edits: 1_000, rounds: 1, memoryRounds: 1 }
const READERS = ['geohook', 'by hand']

const path = (name) => fileURLToPath(new URL(`changes/${name}.mjs`, import.meta.url))

const startReader = (reader) => start(path('reader'), { core: 0, args: [reader], execArgv: ['--expose-gc'] })

async function read(child, { url, edits }, isMemory = false) {
  const figure = await child.ask({ url, isMemory })
  assert.equal(figure.edits, edits, `${url} has all edits`)
  return figure
}

/** Measures the seconds of each subject, in one process per reader. */
const measureTimes = (subjects, small, rounds) =>
  withProcesses(READERS.map(startReader), async (...children) => {
    for (const child of children) await read(child, small)
    return interleave(subjects, {
      rounds,
      measure: async ({ reader, document }) =>
        (await read(children[READERS.indexOf(reader)], document)).seconds,
    })
  })

/** Measures the peak memory of each subject, as a multiple of the document. Each measurement has a new process. */
const measurePeaks = (subjects, small, rounds) =>
  interleave(subjects, {
    rounds,
    warmup: 0,
    measure: ({ reader, document }) =>
      withProcesses([startReader(reader)], async (child) => {
        await read(child, small)
        return (await read(child, document, true)).peak / document.bytes
      }),
  })

/** @type {import('./report.mjs').Run} */
export async function run({ smoke, say }) {
  const { edits, rounds, memoryRounds } = smoke ? SMOKE : FULL
  const service = start(path('service'), { core: 1, args: [String(edits)] })
  return withProcesses([service], async ({ ready: [small, ...documents] }) => {
    say(`extracting ${edits} edits`)
    const subjects = documents.flatMap((document) => READERS.map((reader) => ({ document, reader })))
    const seconds = await measureTimes(subjects, small, rounds)
    const peaks = await measurePeaks(subjects, small, memoryRounds)
    const figures = {}
    const rows = subjects.map((subject) => {
      const { document, reader } = subject
      const byHand = subjects.find((other) => other.document === document && other.reader === 'by hand')
      const own = summarize(seconds.get(subject))
      const peak = summarize(peaks.get(subject))
      if (reader === 'geohook') figures[`changes/memory/${document.script}`] = peak
      const relative = times(ratio(seconds.get(subject), seconds.get(byHand)))
      const size = digits(document.bytes / 1e6)
      return [document.script, size, reader, spread(own), number(edits / own.median), relative, times(peak)]
    })
    const title = `changes: a window of ${number(edits)} edits extracted and handed over, relative to JSON.parse(await response.text()); peak memory as a multiple of the document`
    const columns = ['document', 'MB', '', 'seconds', 'edits/s', 'time vs by hand', 'peak memory']
    return { tables: [{ title, columns, rows }], figures }
  })
}
