// Mutation tests of the signature, payload, receiver and adapter code: makes one small change at a time and checks that
// at least one test fails. Prints each unnoticed change and the score of each area.
//
//   npm run mutation                       all areas, takes an hour or more
//   npm run mutation -- payload receiver   only these areas
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { AREAS } from './areas.mjs'

/** Minimum percentage of changes that tests must notice. */
const GOAL = 90

const folder = fileURLToPath(new URL('.', import.meta.url))
const names = process.argv.slice(2)
const unknown = names.find((name) => !(name in AREAS))
if (unknown) {
  console.error(`Unknown area: ${unknown}. Areas: ${Object.keys(AREAS).join(', ')}`)
  process.exit(2)
}
if (!existsSync(`${folder}node_modules`)) {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' })
}

const total = { noticed: 0, all: 0 }
for (const area of names.length > 0 ? names : Object.keys(AREAS)) {
  const { status } = spawnSync(
    process.execPath,
    [`${folder}node_modules/@stryker-mutator/core/bin/stryker.js`, 'run', 'mutation/stryker.config.mjs'],
    // Sets the seed, because Stryker selects tests by title and the titles of randomised tests contain the seed.
    { cwd: `${folder}..`, stdio: 'inherit', env: { SEED: '2026', ...process.env, MUTATION_AREA: area } },
  )
  if (status !== 0) process.exit(status ?? 1)
  const { noticed, all } = report(JSON.parse(readFileSync(`${folder}reports/${area}.json`, 'utf8')))
  console.log(`${area}: ${noticed} of ${all} changes noticed, ${percent(noticed, all)} %`)
  total.noticed += noticed
  total.all += all
}
console.log(
  `all: ${total.noticed} of ${total.all} changes noticed, ${percent(total.noticed, total.all)} %; goal ${GOAL} %`,
)
if (total.noticed < (total.all * GOAL) / 100) process.exitCode = 1

/** Prints the unnoticed changes, and returns the number of noticed changes and of all changes. */
function report({ files }) {
  const count = { noticed: 0, all: 0 }
  for (const [path, { mutants, source }] of Object.entries(files)) {
    const lines = source.split('\n')
    for (const { status, location, mutatorName, replacement } of mutants) {
      if (status === 'Ignored' || status === 'CompileError') continue
      count.all++
      if (status === 'Killed' || status === 'Timeout' || status === 'RuntimeError') {
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

function percent(part, whole) {
  return ((100 * part) / whole).toFixed(1)
}
