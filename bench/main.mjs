// Compares geohook with alternatives: `npm run bench -- --help`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeDocs } from './lib/docs.mjs'
import { toGoalsTable } from './lib/goals-table.mjs'
import { machine } from './lib/machine.mjs'
import { missingIn } from './lib/missing.mjs'
import { RESULTS } from './lib/paths.mjs'
import { prepare } from './lib/prepare.mjs'
import { writeResult } from './lib/results.mjs'
import { toText } from './lib/table.mjs'
import { PARTS } from './parts.mjs'

const HELP = `npm run bench -- [options]

Compares geohook with similar packages and with code written by hand. Takes several minutes; nothing else should run meanwhile.

  --only <parts>      some of ${PARTS.join(',')}
  --engines <names>   for the parts inbox and changes: some of none,memory,sqlite,postgres,redis
  --smoke             takes a minute to check that everything runs; the figures mean nothing
  --results <folder>  folder for results; default bench/results, with --smoke none
  --docs              writes the results in bench/results into docs/, without measuring
  --help`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: PARTS.join() },
    engines: { type: 'string' },
    smoke: { type: 'boolean', default: false },
    results: { type: 'string' },
    docs: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) console.log(HELP)
else if (values.docs) writeDocs()
else await measure()

async function measure() {
  const names = values.only.split(',')
  const unknown = names.filter((name) => !PARTS.includes(name))
  if (unknown.length > 0) throw new Error(`unknown part ${unknown}: the parts are ${PARTS.join()}`)
  prepare()
  console.log(
    Object.entries(machine())
      .map(([name, value]) => `${name}: ${value}`)
      .join(', '),
  )

  // A smoke run also writes results, to a temporary folder, to check that writing works.
  const temporary =
    values.smoke && !values.results ? mkdtempSync(join(tmpdir(), 'geohook-bench-')) : undefined
  const folder = values.results ?? temporary ?? RESULTS
  const figures = {}
  for (const name of names) Object.assign(figures, await runPart(name, folder))
  if (temporary) rmSync(temporary, { recursive: true })
  console.log(toText(toGoalsTable(figures)))
  if (values.smoke) console.log('\nThis was a smoke run. The figures mean nothing.')
}

/** Runs one part and writes its results. A failure does not stop the other parts. */
async function runPart(name, folder) {
  const started = performance.now()
  console.log(`\n== ${name}`)
  try {
    const { run } = await import(`./parts/${name}.mjs`)
    const report = await run({
      smoke: values.smoke,
      say: (line) => console.log(`   ${line}`),
      ...(values.engines && { engines: values.engines.split(',') }),
    })
    for (const table of report.tables) console.log(toText(table))
    await writeResult(folder, name, report)
    const missing = missingIn(name, report)
    if (missing.length > 0) throw new Error(missing.join('; '))
    return report.figures
  } catch (error) {
    console.error(`${name} failed:`, error)
    process.exitCode = 1
    return {}
  } finally {
    console.log(`\n   ${name} took ${((performance.now() - started) / 1000).toFixed(0)} s`)
  }
}
