// Runs one target: mutates inputs of the corpus, and keeps those that reach new branches. main.mjs watches for hangs.
import { parentPort, workerData } from 'node:worker_threads'
import { seeded } from '../random.mjs'
import { createMutator, minimise, shrink } from './mutate.mjs'

const { outfile, counters, words, inputs, seed, seconds, executions, maxFindings, replay, save, shared } =
  workerData
const MAX_LENGTH = 4096
/** Milliseconds that an input may take: a base, and a part for each byte. */
const MAX_TIME = { base: 100, perByte: 0.05 }

// main.mjs reads these: the number of executions, and the input that runs now.
const progress = new Int32Array(shared, 0, 2)
const current = new Uint8Array(shared, 8)

// A multiple of 4, so that four counters are tested at once.
const hits = new Uint8Array(Math.ceil((counters + 1) / 4) * 4)
const words32 = new Uint32Array(hits.buffer)
// Counters stop at 255.
globalThis.fuzzHits = new Uint8ClampedArray(hits.buffer)

/** Counts differ only if their order of magnitude does: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128 or more. */
const bucketOf = Uint8Array.from({ length: 256 }, (_, count) =>
  count < 4
    ? [0, 1, 2, 4][count]
    : count < 8
      ? 8
      : count < 16
        ? 16
        : count < 32
          ? 32
          : count < 128
            ? 64
            : 128,
)
/** The buckets that an input has reached, for each counter. */
const reached = new Uint8Array(hits.length)

let rejection
process.on('unhandledRejection', (reason) => {
  rejection = reason ?? new Error('undefined was rejected')
})
/** Lets timers and messages of the target run. Node reports unhandled rejections before. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

// Capturing long stack traces takes longer than most inputs.
if (!replay) Error.stackTraceLimit = 3
const target = await import(outfile)
const random = seeded(seed)
const mutate = createMutator(random, [...words, ...(target.words ?? [])], target.maxLength ?? MAX_LENGTH)
const corpus = []
const findings = new Map()
const startedAt = performance.now()
let count = 0
const elapsed = () => performance.now() - startedAt

/** Runs the target. Returns what it has thrown, and leaves the counters in `hits`. */
async function execute(input) {
  hits.fill(0)
  current.set(input)
  progress[1] = input.length
  Atomics.store(progress, 0, ++count)
  try {
    const running = target.run(input)
    if (running) await running
    return undefined
  } catch (error) {
    return error ?? new Error('undefined was thrown')
  }
}

/** Runs the target, and waits for rejections that nothing handles. Returns what was thrown, or the reason of the rejection. */
async function executeAlone(input) {
  rejection = undefined
  const error = await execute(input)
  await nextTurn()
  return error ?? rejection
}

/** Takes over the counters of the last execution. Returns whether one of them is new. */
function addHits() {
  let isNew = false
  for (let at = 0; at < words32.length; at++) {
    if (words32[at] === 0) continue
    for (let index = at * 4; index < at * 4 + 4; index++) {
      const bucket = bucketOf[hits[index]]
      if ((reached[index] & bucket) === bucket) continue
      reached[index] |= bucket
      isNew = true
    }
  }
  return isNew
}

/** Returns the branches that an input reaches; undefined if it is a finding. */
async function branchesOf(input) {
  if ((await execute(input)) !== undefined) return undefined
  return [...hits.keys()].filter((index) => hits[index] > 0)
}

async function timeOf(input) {
  const before = performance.now()
  await execute(input)
  return performance.now() - before
}

/** Two errors with one key have one cause. */
const keyOf = (error) =>
  `${error?.name}: ${String(error?.message ?? error)
    .split('\n')[0]
    .replaceAll(/\d+|"[^"]*"/g, '…')
    .slice(0, 80)}`

/** Reports an input, shortened if that is still the same error. */
async function addFinding(input, error, isShortened = true) {
  const key = keyOf(error)
  if (findings.has(key)) return
  findings.set(key, input)
  const found = { executed: count, milliseconds: elapsed() }
  const isSame = async (shorter) => {
    const other = await executeAlone(shorter)
    return other !== undefined && keyOf(other) === key
  }
  const small = isShortened ? await shrink(input, isSame) : input
  parentPort.postMessage({ finding: small, error: String(error?.stack ?? error), ...found })
}

async function tryInput(input) {
  const before = performance.now()
  const error = await execute(input)
  const time = performance.now() - before
  const isNew = addHits()
  if (error !== undefined) await addFinding(input, error)
  else if (isNew) corpus.push(input)
  const limit = MAX_TIME.base + MAX_TIME.perByte * input.length
  if (time <= limit) return
  // The machine may have been busy: only an input that is slow three more times is a finding.
  const times = [await timeOf(input), await timeOf(input), await timeOf(input)]
  if (Math.min(...times) > limit)
    await addFinding(
      input,
      new Error(`slow: ${input.length} bytes took ${Math.round(Math.min(...times))} ms`),
      false,
    )
}

/** Finds out which of these inputs has caused an unhandled rejection, if there was one. */
async function findRejections(inputs) {
  await nextTurn()
  if (rejection === undefined) return
  const first = rejection
  let isFound = false
  for (const input of inputs) {
    const error = await executeAlone(input)
    if (error === undefined) continue
    isFound = true
    await addFinding(input, error)
  }
  // It did not happen again: reports the last input.
  if (!isFound) await addFinding(inputs.at(-1), first, false)
  rejection = undefined
}

const pick = () => corpus[Math.floor(random() * corpus.length)]

/** Prefers recent inputs, and short ones, which run faster. */
function pickParent() {
  const recent = corpus[corpus.length - 1 - Math.floor(random() ** 3 * corpus.length)]
  const other = pick()
  return recent.length < other.length || random() < 0.25 ? recent : other
}

const first = [...(replay ? [] : (target.seeds ?? [])), ...inputs].map((input) => Buffer.from(input))
for (const input of first) await tryInput(input)
await findRejections(first)
if (!replay) {
  if (corpus.length === 0) corpus.push(Buffer.from('0'))
  const isDone = () => count >= executions || elapsed() >= seconds * 1000 || findings.size >= maxFindings
  while (!isDone()) {
    const batch = []
    while (batch.length < 256 && count < executions) {
      const input = mutate(pickParent(), pick())
      batch.push(input)
      await tryInput(input)
    }
    await findRejections(batch)
  }
}

const milliseconds = elapsed()
const executed = count
parentPort.postMessage({
  executed,
  milliseconds,
  covered: reached.reduce((sum, buckets) => sum + (buckets ? 1 : 0), 0),
  corpus: corpus.length,
  ...(save ? { saved: await minimise(corpus, branchesOf) } : {}),
})
