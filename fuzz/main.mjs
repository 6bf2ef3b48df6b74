// Coverage-guided fuzzing: changes inputs at random, and keeps those that reach new branches of `src`. Each target has
// its own file in fuzz/targets, whose comment says what must be true for every input. The maintained alternative,
// Jazzer.js, needs glibc 2.38, which Debian 12 lacks.
//
//   npm run fuzz -- --seconds 60                          all targets, each for 60 s
//   npm run fuzz -- --target verify --executions 1e7
//   npm run fuzz -- --target verify --replay fuzz/findings/verify/1f0c…
//   npm run fuzz -- --seconds 60 --save                   replaces fuzz/corpus by few short inputs with the same coverage
import { createHash, randomInt } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { bundle, root } from './build.mjs'
import { TARGETS } from './targets.mjs'

/** Milliseconds after which an input that still runs is a finding, and its worker is ended. */
const HANG = 10_000
/** Exit code of a worker that waits for a promise while nothing is left that could settle it. */
const UNSETTLED = 13

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true },
    seconds: { type: 'string' },
    executions: { type: 'string', default: 'Infinity' },
    seed: { type: 'string' },
    replay: { type: 'string' },
    save: { type: 'boolean', default: false },
    /** Another folder for findings, for tests. */
    findings: { type: 'string', default: 'fuzz/findings' },
    /** A target outside of fuzz/targets, for tests. Branches of its folder count. */
    module: { type: 'string' },
  },
})
const executions = Number(values.executions)
const seconds = Number(values.seconds ?? (executions === Infinity ? 60 : 'Infinity'))
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed)
const names = values.module ? ['module'] : (values.target ?? Object.keys(TARGETS))
const unknown = names.find((name) => name !== 'module' && !Object.hasOwn(TARGETS, name))
if (unknown !== undefined || [executions, seconds, seed].some(Number.isNaN)) {
  console.error(
    unknown ? `Unknown target: ${unknown}. Targets: ${Object.keys(TARGETS).join(', ')}` : 'Not a number',
  )
  process.exit(2)
}

console.log(`seed ${seed}`)
for (const name of names) if (await runTarget(name)) process.exitCode = 1

/** Returns the number of findings. */
async function runTarget(name) {
  const entry = values.module ? resolve(values.module) : join(root, `fuzz/targets/${name}.mjs`)
  const covers = values.module ? [relative(root, join(entry, '..'))] : TARGETS[name]
  const { outfile, counters, words, remove } = await bundle(entry, covers)
  const corpus = join(root, 'fuzz/corpus', name)
  try {
    const inputs = values.replay ? [readFileSync(values.replay)] : readFolder(corpus)
    const { findings, end } = await watch(name, { outfile, counters, words, inputs })
    if (end) {
      const { executed, milliseconds, covered } = end
      const perSecond = Math.round(executed / (milliseconds / 1000))
      console.log(
        `${name}: ${executed} executions in ${(milliseconds / 1000).toFixed(1)} s (${perSecond}/s), ` +
          `${covered} of ${counters} branches, corpus ${end.corpus}, findings ${findings}`,
      )
      if (end.saved) saveCorpus(corpus, end.saved)
    }
    return findings
  } finally {
    await remove()
  }
}

/** Runs a worker until it ends, or until one of its inputs hangs or never settles. */
function watch(name, built) {
  const shared = new SharedArrayBuffer(8 + 1024 * 1024)
  const progress = new Int32Array(shared, 0, 2)
  const { replay, save } = values
  const workerData = { ...built, seed, seconds, executions, replay: replay !== undefined, save, shared }
  const worker = new Worker(new URL('./worker.mjs', import.meta.url), {
    workerData,
    execArgv: ['--no-warnings'],
  })
  let findings = 0
  let end
  let isOver = false
  let before = -1
  let since = Date.now()
  const currentInput = () => Buffer.from(new Uint8Array(shared, 8, progress[1]))
  return new Promise((done, failed) => {
    const timer = setInterval(() => {
      const count = Atomics.load(progress, 0)
      if (count !== before) since = Date.now()
      else if (!end && count > 0 && Date.now() - since > HANG) {
        clearInterval(timer)
        isOver = true
        const input = currentInput()
        report(input, `hang: ${input.length} bytes ran for more than ${HANG} ms`)
        worker.terminate()
      }
      before = count
    }, 500)
    const report = (input, error, found) => {
      findings++
      const file = values.replay ?? saveFinding(name, input)
      const which = values.module ? `--module ${values.module}` : `--target ${name}`
      console.log(
        `${name}: ${error}\n  input: ${JSON.stringify(Buffer.from(input).toString('latin1')).slice(0, 600)}`,
      )
      if (found)
        console.log(`  after ${found.executed} executions in ${(found.milliseconds / 1000).toFixed(1)} s`)
      console.log(`  replay: npm run fuzz -- ${which} --replay ${file}`)
    }
    worker.on('message', (message) => {
      if ('finding' in message) report(Buffer.from(message.finding), message.error, message)
      else {
        end = message
        isOver = true
        // Handles of the target, such as timers, must not keep the worker alive.
        worker.terminate()
      }
    })
    worker.on('error', (error) => {
      isOver = true
      failed(error)
    })
    worker.on('exit', (code) => {
      clearInterval(timer)
      if (!isOver) {
        const problem = code === UNSETTLED ? 'never settles' : `ended the worker with code ${code}`
        if (progress[0] === 0) return failed(new Error(`${name}: the import of the target ${problem}`))
        report(currentInput(), `this input ${problem}`)
      }
      done({ findings, end })
    })
  })
}

function readFolder(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .map((file) => readFileSync(join(folder, file)))
}

function saveFinding(name, input) {
  const folder = resolve(root, values.findings, name)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, nameOf(input))
  writeFileSync(file, input)
  return relative(root, file)
}

function saveCorpus(folder, inputs) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const input of inputs) writeFileSync(join(folder, nameOf(input)), input)
  const bytes = inputs.reduce((sum, { length }) => sum + length, 0)
  console.log(`  saved ${inputs.length} inputs, ${bytes} bytes, in ${relative(root, folder)}`)
}

function nameOf(input) {
  return createHash('sha256').update(input).digest('hex').slice(0, 12)
}
