// Measures whether response times reveal which tenants exist, or how much of a forged signature is correct, with the
// method of dudect. Fails if a pair differs that must not, or if a control pair does not differ.
//
//   npm run timing -- --rounds 2000 --seed 1
//   npm run timing -- --all-nodes
//
// The exit code is 0 if all pairs are as expected, 1 if one is not, and 2 for a wrong option.
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { createPairs } from './timing/pairs.mjs'
import { largestT, median, seeded } from './timing/statistics.mjs'

/** |t| from which a difference is certain. From 4.5 it is likely. Both are the limits of dudect. */
const CERTAIN = 10
const LIKELY = 4.5
/**
 * Nanoseconds from which a certain difference counts, unless a pair has its own limit. Crosby, Wallach and Riedi (TISSEC
 * 2009) could tell 20 µs apart over the internet, and 100 ns within a data centre.
 */
const VISIBLE = 2000
/** Requests per round. After a switch to another pair, the first requests of both sides are slower. */
const BURST = 40
/** Rounds to ignore at the start, until V8 has compiled the code. */
const WARM_UP = 100
const NODES = ['20', '22', '24', '26']

const { rounds, seed, node, allNodes } = readOptions()
const random = seeded(seed)

if (allNodes) for (const version of NODES) runOn(version)
else if (node) runOn(node)
else await run()

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        rounds: { type: 'string', default: '1000' },
        seed: { type: 'string' },
        node: { type: 'string' },
        'all-nodes': { type: 'boolean', default: false },
      },
    })
    const { rounds, seed = String(randomInt(2 ** 32)), node, 'all-nodes': allNodes } = values
    if (!/^[1-9]\d{0,8}$/.test(rounds)) throw new Error('--rounds must be an integer from 1, below 10^9')
    if (!/^\d{1,10}$/.test(seed)) throw new Error('--seed must be an integer below 10^10')
    return { rounds: Number(rounds), seed: Number(seed), node, allNodes }
  } catch (error) {
    console.error(error.message)
    process.exit(2)
  }
}

/** Runs this script with another version of Node. */
function runOn(version) {
  const args = [version, 'node', 'scripts/timing.mjs', '--rounds', String(rounds), '--seed', String(seed)]
  if (spawnSync('.ci/on-node', args, { stdio: 'inherit' }).status !== 0) process.exitCode = 1
}

async function run() {
  const pairs = createPairs(random).map((pair) => ({ ...pair, times: [[], []] }))
  for (let round = -WARM_UP; round < rounds; round++) for (const pair of pairs) await measure(pair, round)
  report(pairs)
}

/** Measures one side after the other in random order, so that interruptions affect both sides equally. */
async function measure({ sides, times }, round) {
  for (let index = 0; index < BURST; index++) {
    const side = random() < 0.5 ? 0 : 1
    const request = Math.floor(random() * 1000)
    const send = sides[side]
    const started = performance.now()
    await send(request)
    const milliseconds = performance.now() - started
    if (round >= 0) times[side].push(milliseconds)
  }
}

function report(pairs) {
  const results = pairs.map(({ name, kind = 'secret', visible = VISIBLE, times: [a, b] }) => {
    const t = largestT(a, b)
    const difference = (median(a) - median(b)) * 1e6
    return { name, kind, t, difference, time: median(b) * 1e6, verdict: verdictOf(t, difference, visible) }
  })
  console.log(`seed ${seed}, about ${(rounds * BURST) / 2} requests per side`)
  console.table(
    results.map(({ name, kind, t, difference, time, verdict }) => ({
      pair: name,
      kind,
      ns: time.toFixed(0),
      'difference in ns': difference.toFixed(0),
      t: t.toFixed(1),
      verdict,
    })),
  )
  for (const { name, kind, t, verdict } of results) {
    const isMissed = kind === 'control' && !(Math.abs(t) >= CERTAIN)
    const isFound = kind === 'secret' && verdict === 'visible'
    if (isMissed) console.error(`No difference detected for ${name}`)
    if (isFound) console.error(`Response times differ: ${name}`)
    if (isMissed || isFound) process.exitCode = 1
  }
}

/** A difference counts if it is both certain and visible. Controls only need to be certain. */
function verdictOf(t, difference, visible) {
  if (!(Math.abs(t) >= LIKELY)) return 'none'
  if (Math.abs(t) < CERTAIN) return 'uncertain'
  return Math.abs(difference) < visible ? 'too small to see' : 'visible'
}
