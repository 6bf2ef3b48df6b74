// Coverage-guided fuzzing: changes inputs at random, and keeps those that reach new branches of `src`. Each target has
// its own file in scripts/fuzz/targets, whose comment says what must be true for every input. The maintained alternative,
// Jazzer.js, needs glibc 2.38, which Debian 12 lacks.
//
//   npm run fuzz -- --seconds 60                          all targets, each for 60 s
//   npm run fuzz -- --target verify --executions 1e7
//   npm run fuzz -- --target verify --replay scripts/fuzz/findings/verify/1f0c…
//   npm run fuzz -- --seconds 60 --save                   replaces scripts/fuzz/corpus by few short inputs with the same coverage

import { createHash, randomInt } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { bundle, root } from './build.mjs'

/** The targets, and the folders of `src` in which their new branches count. */
const TARGETS = {
  planted: ['scripts/fuzz/targets/planted.mjs'],
  verify: ['src/signature/'],
  payload: ['src/payload/', 'src/shared/json.ts'],
  receiver: ['src/receiver/', 'src/signature/', 'src/payload/', 'src/shared/json.ts'],
  captures: ['src/cli/io/captures.ts', 'src/cli/io/files.ts', 'src/shared/redact.ts'],
  forms: [
    'src/mock/admin/',
    'src/mock/state/',
    'src/mock/http/',
    'src/payload/parse.ts',
    'src/mock/schemas.ts',
  ],
  changes: ['src/changes/', 'src/payload/changes-url.ts', 'src/shared/json.ts'],
}

/** Reads the options of the command line. Throws an error that says what is wrong with them. */
function readOptions() {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', multiple: true },
      seconds: { type: 'string' },
      executions: { type: 'string' },
      seed: { type: 'string' },
      replay: { type: 'string' },
      save: { type: 'boolean', default: false },
    },
  })
  const { target: names = Object.keys(TARGETS), replay, save } = values
  const unknown = names.find((name) => !Object.hasOwn(TARGETS, name))
  if (unknown !== undefined) {
    throw new Error(`Unknown target: ${unknown}. Targets: ${Object.keys(TARGETS).join(', ')}`)
  }
  if (replay !== undefined && names.length !== 1) throw new Error('--replay needs one --target')
  if (save && replay !== undefined) throw new Error('--save cannot be combined with --replay')
  const executions = readNumber('executions', values.executions) ?? Infinity
  const seconds = readNumber('seconds', values.seconds) ?? (executions === Infinity ? 60 : Infinity)
  const seed = readNumber('seed', values.seed) ?? randomInt(2 ** 31)
  return { names, replay, save, executions, seconds, seed }
}

function readNumber(name, text) {
  if (text === undefined) return undefined
  const number = Number(text)
  if (text.trim() === '' || !(number >= 0)) throw new Error(`--${name} must be a number, 0 or greater`)
  return number
}

/** Milliseconds after which an input that still runs is a finding, and its worker is ended. */
const HANG = 10_000
/** Exit code of a worker whose promise can no longer settle. */
const UNSETTLED = 13

const options = readOptionsOrExit()
const { seed, replay } = options

console.log(`seed ${seed}`)
for (const name of options.names) {
  const findings = await runTarget(name)
  const isExpected = name === 'planted' ? findings > 0 : findings === 0
  if (isExpected) continue
  if (name === 'planted') console.error('the planted flaw was not found')
  process.exitCode = 1
}

/** Returns the number of findings. */
async function runTarget(name) {
  const entry = join(root, `scripts/fuzz/targets/${name}.mjs`)
  const { outfile, counters, words, remove } = await bundle(entry, TARGETS[name])
  const corpus = join(root, 'scripts/fuzz/corpus', name)
  try {
    const inputs = replay ? [readFileSync(replay)] : readFolder(corpus)
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
  const { seconds, executions, save } = options
  const limits =
    name === 'planted'
      ? { seconds: Infinity, executions: 500_000, maxFindings: 1 }
      : { seconds, executions, maxFindings: 5 }
  const workerData = { ...built, ...limits, seed, replay: replay !== undefined, save, shared }
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
      const file = replay ?? saveFinding(name, input)
      console.log(
        `${name}: ${error}\n  input: ${JSON.stringify(Buffer.from(input).toString('latin1')).slice(0, 600)}`,
      )
      if (found)
        console.log(`  after ${found.executed} executions in ${(found.milliseconds / 1000).toFixed(1)} s`)
      console.log(`  replay: npm run fuzz -- --target ${name} --replay ${file}`)
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
      if (progress[0] === 0) failed(error)
      // For example an exception in a timer. The pauses of the worker end after 256 inputs: this is the last of them.
      else report(currentInput(), `ended the worker: ${error?.stack ?? error}`)
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
  const folder = join(root, 'scripts/fuzz/findings', name)
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

function readOptionsOrExit() {
  try {
    return readOptions()
  } catch (error) {
    console.error(error.message)
    process.exit(2)
  }
}
