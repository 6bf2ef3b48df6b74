// Measures whether a stranger could learn from response times which tenants exist, or how close a forged signature came.
// Fails where the medians of a pair are too far apart, and where it does not see the difference in a control.
//
//   npm run timing -- --rounds 500 --seed 1
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { createPairs } from './timing/pairs.mjs'
import { quantile, seeded, welch } from './timing/statistics.mjs'

/** How far the medians of a pair may be apart. */
const BAR = 0.03
/** Requests of each side in a round: the first ones after another pair are slower, and both sides are. */
const BURST = 20
/** Rounds that are not counted: the code is not compiled yet. */
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

/** Each request by itself, the two sides in random order: whatever disturbs the machine disturbs both. */
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
    return { name, isControl, a, b, ratio, isApart: Math.abs(ratio - 1) > BAR }
  })
  console.log(`seed ${seed}, ${rounds * BURST} requests of each side, medians may be ${BAR * 100} % apart`)
  console.table(
    results.map(({ name, a, b, ratio, isApart }) => ({
      pair: name,
      µs: [a, b].map((figures) => (median(figures) * 1000).toFixed(2)).join(' '),
      ratio: ratio.toFixed(3),
      t: welch(a, b).toFixed(1),
      verdict: isApart ? 'apart' : 'alike',
    })),
  )
  for (const { name, isControl, isApart } of results) {
    if (isApart === isControl) continue
    console.error(isControl ? `Too coarse to see ${name}` : `Told apart by their time: ${name}`)
    process.exitCode = 1
  }
}
