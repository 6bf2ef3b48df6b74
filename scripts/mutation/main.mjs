// Mutation tests of the receiver's code and of the inboxes: makes one small change at a time and checks that at least
// one test fails. Prints each unnoticed change and the score of each area.
//
//   npm run mutation                               all areas, takes most of a day
//   npm run mutation -- payload receiver           only these areas
//   npm run mutation -- --percent 5 explain        a random sample of 5 % of the changes
//
// A sample fails only if its whole 95 % confidence interval is below the goal. SEED selects another sample.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { unmatched } from '../check-paths.mjs'
import { AREAS } from './areas.mjs'

/** Minimum percentage of changes that tests must notice, in each area. */
const GOAL = 90

const folder = fileURLToPath(new URL('.', import.meta.url))
const { values, positionals: names } = parseArgs({
  options: { percent: { type: 'string', default: '100' } },
  allowPositionals: true,
})
const unknown = names.find((name) => !Object.hasOwn(AREAS, name))
if (unknown) fail(`Unknown area: ${unknown}. Areas: ${Object.keys(AREAS).join(', ')}`)
const missing = unmatched(Object.values(AREAS).flatMap(({ mutate, tests }) => [...mutate, ...tests]))
if (missing.length > 0)
  fail(`scripts/mutation/areas.mjs names paths that match no file: ${missing.join(', ')}`)
if (!(values.percent > 0 && values.percent <= 100)) fail('--percent must be above 0, at most 100')
if (!existsSync(`${folder}node_modules`)) {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' })
}

for (const area of names.length > 0 ? names : Object.keys(AREAS)) {
  const { status } = spawnSync(
    process.execPath,
    [
      `${folder}node_modules/@stryker-mutator/core/bin/stryker.js`,
      'run',
      'scripts/mutation/stryker.config.mjs',
    ],
    {
      cwd: `${folder}../..`,
      stdio: 'inherit',
      // Sets the seed, because Stryker selects tests by title and the titles of randomised tests contain the seed.
      env: { SEED: '2026', ...process.env, MUTATION_AREA: area, MUTATION_PERCENT: values.percent },
    },
  )
  if (status !== 0) process.exit(status ?? 1)
  const { noticed, all, invalid } = report(JSON.parse(readFileSync(`${folder}reports/${area}.json`, 'utf8')))
  if (all === 0) {
    console.error(`${area}: no change was tested; use a larger --percent`)
    process.exitCode = 1
    continue
  }
  const { low, high } = interval(noticed, all)
  const range = low < high ? ` (${percent(low)} to ${percent(high)})` : ''
  console.log(
    `${area}: ${noticed} of ${all} changes noticed, ${percent(noticed / all)}${range}; goal ${GOAL} %` +
      `${invalid > 0 ? `; not counted, because the tests could not run: ${invalid}` : ''}`,
  )
  if (high < GOAL / 100) process.exitCode = 1
}

/** Prints the unnoticed changes, and counts the noticed ones, all, and those with which the tests could not run. */
function report({ files }) {
  const count = { noticed: 0, all: 0, invalid: 0 }
  for (const [path, { mutants, source }] of Object.entries(files)) {
    const lines = source.split('\n')
    for (const { status, location, mutatorName, replacement } of mutants) {
      if (status === 'Ignored' || status === 'CompileError') continue
      if (status === 'RuntimeError') {
        count.invalid++
        continue
      }
      count.all++
      if (status === 'Killed' || status === 'Timeout') {
        count.noticed++
        continue
      }
      const { line, column } = location.start
      console.log(
        `${path}:${line}:${column} ${status} ${mutatorName}\n  - ${lines[line - 1].trim()}\n  + ${replacement}`,
      )
    }
  }
  return count
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`
}

/** The 95 % confidence interval of a sample's score, by Wilson's formula. A whole area has no interval. */
function interval(noticed, all) {
  const score = noticed / all
  if (Number(values.percent) === 100) return { low: score, high: score }
  const z = 1.96
  const middle = (noticed + z ** 2 / 2) / (all + z ** 2)
  const half = (z / (all + z ** 2)) * Math.sqrt((noticed * (all - noticed)) / all + z ** 2 / 4)
  return { low: middle - half, high: middle + half }
}

function fail(message) {
  console.error(message)
  process.exit(2)
}
