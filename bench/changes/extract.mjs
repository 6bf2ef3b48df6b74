import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { start } from '../lib/child.mjs'
import { digits, number, spread, times } from '../lib/format.mjs'
import { interleave, ratio, summarize } from '../lib/rounds.mjs'

const file = (name) => fileURLToPath(new URL(name, import.meta.url))
const READERS = ['geohook', 'by hand']

/** Starts a reader on another core than the server, and extracts a small document first, which loads all code. */
async function startReader(reader, small) {
  const child = await start(file('reader.mjs'), { core: 0, args: [reader], execArgv: ['--expose-gc'] })
  await child.ask({ url: small.url })
  return child
}

async function read(child, { url, edits }, isMemory) {
  const figure = await child.ask({ url, isMemory })
  assert.equal(figure.edits, edits, `${url} has all edits`)
  return figure
}

/** Measures the seconds of each subject, in one process per reader. */
async function measureTimes(subjects, small, rounds) {
  const children = new Map()
  for (const reader of READERS) children.set(reader, await startReader(reader, small))
  try {
    return await interleave(subjects, {
      rounds,
      measure: async ({ reader, document }) => (await read(children.get(reader), document, false)).seconds,
    })
  } finally {
    for (const child of children.values()) await child.close()
  }
}

/** Measures the peak memory of each subject, as a multiple of the document. Each measurement has a new process. */
const measurePeaks = (subjects, small, rounds) =>
  interleave(subjects, {
    rounds,
    warmup: 0,
    async measure({ reader, document }) {
      const child = await startReader(reader, small)
      const { peak } = await read(child, document, true)
      await child.close()
      return peak / document.bytes
    },
  })

/** Measures the time and memory of `changes.of()`, and of code by hand, for a window with many edits. */
export async function measureExtraction({ edits, rounds, memoryRounds }) {
  const server = await start(file('server.mjs'), { core: 1, args: [String(edits)] })
  try {
    const [small, ...documents] = server.ready
    const subjects = documents.flatMap((document) => READERS.map((reader) => ({ document, reader })))
    const seconds = await measureTimes(subjects, small, rounds)
    const peaks = await measurePeaks(subjects, small, memoryRounds)
    return subjects.map((subject) => {
      const { document, reader } = subject
      const byHand = subjects.find((other) => other.document === document && other.reader === 'by hand')
      return {
        reader,
        document,
        seconds: summarize(seconds.get(subject)),
        ratio: ratio(seconds.get(subject), seconds.get(byHand)),
        peak: summarize(peaks.get(subject)),
      }
    })
  } finally {
    await server.close()
  }
}

/** @param {Awaited<ReturnType<typeof measureExtraction>>} results */
export function toExtractionTable(results, edits) {
  return {
    title: `changes: a window of ${number(edits)} edits extracted and handed over, relative to JSON.parse(await response.text()); peak memory as a multiple of the document`,
    columns: ['document', 'MB', 'answer', '', 'seconds', 'edits/s', 'time vs by hand', 'peak memory'],
    rows: results.map(({ document, reader, seconds, ratio, peak }) => [
      document.script,
      digits(document.bytes / 1e6),
      document.answer,
      reader,
      spread(seconds),
      number(edits / seconds.median),
      times(ratio),
      times(peak),
    ]),
  }
}
