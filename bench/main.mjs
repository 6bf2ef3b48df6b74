// Compares geohook with alternatives, or with another build of itself: `npm run bench -- --help`.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeDocs } from './docs.mjs'
import { GOALS, toGoalsTable } from './goals.mjs'
import { machine, RESULTS, ROOT, toText, writeResult } from './report.mjs'

const PARTS = ['verify', 'explain', 'http', 'memory', 'start', 'inbox', 'backlog', 'changes']

const HELP = `npm run bench -- [options]

Compares geohook with similar packages and with code written by hand. Takes several minutes; nothing else should run meanwhile.

  --only <parts>      some of ${PARTS.join(',')}
  --against <folder>  compares with another checkout, whose dist/ is built, instead
  --engines <names>   for the part inbox: some of none,memory,sqlite,postgres
  --smoke             takes a minute to check that everything runs; the figures mean nothing
  --results <folder>  folder for results; default bench/results, with --smoke none
  --docs              writes the results in bench/results into docs/, without measuring
  --help`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: PARTS.join() },
    against: { type: 'string' },
    engines: { type: 'string' },
    smoke: { type: 'boolean', default: false },
    results: { type: 'string' },
    docs: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const options = {
  smoke: values.smoke,
  say: (line) => console.log(`   ${line}`),
  engines: values.engines?.split(','),
}

if (values.help) console.log(HELP)
else if (values.docs) writeDocs()
else await measure()

async function measure() {
  const names = values.only.split(',')
  const unknown = names.filter((name) => !PARTS.includes(name))
  if (unknown.length > 0) throw new Error(`unknown part ${unknown}: the parts are ${PARTS.join()}`)
  prepare()
  console.log(Object.values(machine()).join(', '))
  if (values.against) {
    const { compareBuilds } = await import('./against.mjs')
    return console.log(toText(await compareBuilds(values.against, options)))
  }
  // A smoke run also writes results, to a temporary folder, to check that writing works.
  const temporary = values.smoke && !values.results && mkdtempSync(join(tmpdir(), 'geohook-bench-'))
  const figures = {}
  for (const name of names)
    Object.assign(figures, await runPart(name, values.results ?? (temporary || RESULTS)))
  if (temporary) rmSync(temporary, { recursive: true })
  console.log(toText(toGoalsTable(figures)))
  if (values.smoke) console.log('\nThis was a smoke run. The figures mean nothing.')
}

/** Builds the package, and installs the packages of the benchmarks if their lock file has changed. */
function prepare() {
  if (process.env.KEEP_BUILD !== 'true') {
    const build = [join(ROOT, 'node_modules/tsup/dist/cli-default.js'), '--no-dts', '--silent']
    execFileSync(process.execPath, build, { cwd: ROOT, stdio: 'inherit' })
  }
  const cwd = join(ROOT, 'bench')
  const changed = (file) => statSync(join(cwd, file)).mtimeMs
  const installed = 'node_modules/.package-lock.json'
  if (!existsSync(join(cwd, installed)) || changed(installed) < changed('package-lock.json'))
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd, stdio: 'inherit' })
  // Makes `geohook` a package of the benchmarks, so that it can be imported by name like the others.
  const link = join(cwd, 'node_modules/geohook')
  rmSync(link, { force: true })
  symlinkSync(ROOT, link, 'junction')
}

/** Runs one part and writes its results. A failure does not stop the other parts. */
async function runPart(name, folder) {
  console.log(`\n== ${name}`)
  try {
    const { run } = await import(`./${name}.mjs`)
    const report = await run(options)
    for (const table of report.tables) console.log(toText(table))
    // The inbox may have been measured with fewer engines.
    const goals = GOALS.map(({ id }) => id).filter((id) => name !== 'inbox' && id.startsWith(`${name}/`))
    const isFigure = (figure) => [figure?.median, figure?.low, figure?.high].every(Number.isFinite)
    const missing = [...goals, ...Object.keys(report.figures)].filter((id) => !isFigure(report.figures[id]))
    if (missing.length > 0) throw new Error(`no figure ${missing.join()}`)
    writeResult(folder, name, report)
    return report.figures
  } catch (error) {
    console.error(`${name} failed:`, error)
    process.exitCode = 1
    return {}
  }
}
