// Measures whether response times reveal which tenants exist, or how much of a forged signature is correct, with the
// method of dudect. Fails if a pair differs that must not, or if a control pair does not differ.
//
//   npm run timing -- --rounds 2000 --seed 1
//   npm run timing -- --all-nodes
//
// The exit code is 0 if all pairs are as expected, 1 if one is not, and 2 for a wrong option or a Node that is not
// installed.
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { seeded } from './random.mjs'
import { judge } from './timing/judge.mjs'
import { createPairs } from './timing/pairs.mjs'

/** Requests per round. After a switch to another pair, the first requests of both sides are slower. */
const BURST = 40
/** Rounds to ignore at the start, until V8 has compiled the code. */
const WARM_UP = 100
const NODES = ['20', '22', '24', '26']

const { rounds, seed, versions } = readOptions()
const random = seeded(seed)

if (versions.length > 0) for (const version of versions) runOn(version)
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
    if (!/^\d{1,10}$/.test(seed) || Number(seed) >= 2 ** 32)
      throw new Error('--seed must be an integer below 2^32')
    if (allNodes && node !== undefined) throw new Error('--node and --all-nodes cannot be combined')
    if (node !== undefined && !/^\d+$/.test(node))
      throw new Error('--node must be a major version, such as 22')
    const versions = allNodes ? NODES : node === undefined ? [] : [node]
    for (const version of versions) checkNode(version)
    return { rounds: Number(rounds), seed: Number(seed), versions }
  } catch (error) {
    console.error(error.message)
    process.exit(2)
  }
}

/** @throws {Error} if this version of Node is not installed */
function checkNode(version) {
  const { status, stderr, error } = spawnSync('.ci/on-node', [version, 'true'], { encoding: 'utf8' })
  if (status !== 0) throw error ?? new Error(stderr.trim())
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
  const results = pairs.map((pair) => ({ name: pair.name, ...judge(pair) }))
  console.log(`seed ${seed}, about ${(rounds * BURST) / 2} requests per side`)
  console.table(
    results.map(({ name, kind, time, difference, meanDifference, t, verdict }) => ({
      pair: name,
      kind,
      ns: time.toFixed(0),
      'difference in ns': difference.toFixed(0),
      'of the means': meanDifference.toFixed(0),
      t: t.toFixed(1),
      verdict,
    })),
  )
  for (const { name, kind, verdict } of results.filter(({ hasFailed }) => hasFailed)) {
    if (verdict === 'no result') console.error(`No result for ${name}: the times are constant or too few`)
    else if (kind === 'control') console.error(`No difference detected for ${name}`)
    else console.error(`Response times differ: ${name}`)
    process.exitCode = 1
  }
}
