// Measures whether response times reveal which tenants exist, or how much of a forged signature is correct. Fails if
// the median times of a pair of requests differ too much, or if the median times of a control pair do not differ.
//
//   npm run timing -- --rounds 500 --seed 1
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { createPairs } from './timing/pairs.mjs'
import { quantile, seeded, welch } from './timing/statistics.mjs'

/** Maximum relative difference between the medians of a pair. */
const TOLERANCE = 0.03
/** Requests per side and round. After a switch to another pair, the first requests of both sides are slower. */
const BURST = 20
/** Rounds to ignore at the start, until V8 has compiled the code. */
const WARM_UP = 100

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '500' }, seed: { type: 'string' } },
})
const rounds = Number(values.rounds)
const seed = values.seed === undefined ? randomInt(2 ** 32) : Number(values.seed)
const random = seeded(seed)
const median = (figures) => quantile(figures, 0.5)

const pairs = createPairs().map((pair) => ({ ...pair, figures: [[], []] }))
for (let round = -WARM_UP; round < rounds; round++) for (const pair of pairs) await measure(pair, round)
report()

/** Alternates single requests of both sides in random order, so that interruptions affect both sides equally. */
async function measure({ sides, figures }, round) {
  for (let index = 0; index < BURST; index++) {
    const first = random() < 0.5 ? 0 : 1
    const request = Math.floor(random() * 1000)
    for (const side of [first, 1 - first]) {
      const send = sides[side]
      const started = performance.now()
      await send(request)
      const milliseconds = performance.now() - started
      if (round >= 0) figures[side].push(milliseconds)
    }
  }
}

function report() {
  const results = pairs.map(({ name, isControl = false, figures: [a, b] }) => {
    const ratio = median(a) / median(b)
    return { name, isControl, a, b, ratio, differs: Math.abs(ratio - 1) > TOLERANCE }
  })
  console.log(`seed ${seed}, ${rounds * BURST} requests per side, medians may differ by ${TOLERANCE * 100} %`)
  console.table(
    results.map(({ name, a, b, ratio, differs }) => ({
      pair: name,
      µs: [a, b].map((figures) => (median(figures) * 1000).toFixed(2)).join(' '),
      ratio: ratio.toFixed(3),
      t: welch(a, b).toFixed(1),
      verdict: differs ? 'different' : 'equal',
    })),
  )
  for (const { name, isControl, differs } of results) {
    if (differs === isControl) continue
    console.error(isControl ? `No difference detected for ${name}` : `Response times differ: ${name}`)
    process.exitCode = 1
  }
}
