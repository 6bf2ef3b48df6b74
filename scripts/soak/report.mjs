const MAX_FAULTS = 20

const number = (value) => {
  if (!Number.isFinite(value)) return String(value)
  return Math.abs(value) >= 10 ? value.toFixed(0) : value.toPrecision(2).replace(/^-?0\.0*$/, '0')
}

const toRow = ({ resource, growth, slope, low, high, limit, outcome }) => ({
  resource,
  growth: growth ?? (slope === undefined ? '' : number(slope)),
  interval: slope === undefined ? '' : `${number(low)} to ${number(high)}`,
  limit: limit ?? '',
  verdict: outcome,
})

/** Prints the tables of a run. */
export function printReport({ seed, run, resources, adapters, restarts }) {
  const samples = run.generations.reduce((sum, { length }) => sum + length, 0)
  console.log(
    `seed ${seed}: ${run.requests} requests in ${run.minutes.toFixed(1)} minutes, ${run.deliveries} deliveries acknowledged and handled, ${samples} samples`,
  )
  console.log(
    '\nHeap: bytes per request, or per restart while everything is closed, with intervals of 99 % confidence.',
  )
  console.log('All else: growth of a count in one generation, or over all restarts.')
  console.table([...resources, ...adapters, ...restarts].map(toRow))
}

/** Prints what is wrong with a run. @returns {number} the exit code */
export function printVerdict({ run, resources, adapters, restarts }) {
  const faults = [...run.faults]
  for (const [fault, times] of faults.slice(0, MAX_FAULTS)) console.error(`wrong: ${fault} (${times} times)`)
  if (faults.length > MAX_FAULTS) console.error(`and ${faults.length - MAX_FAULTS} more`)

  const rows = [...resources, ...restarts, ...adapters]
  for (const { resource, outcome, growth, slope } of rows) {
    if (outcome === 'leak') console.error(`leak: ${resource} grows by ${growth ?? number(slope)}`)
  }
  if (faults.length > 0 || rows.some(({ outcome }) => outcome === 'leak')) return 1

  const unclear = rows.filter(({ outcome }) => outcome === 'unclear')
  for (const { resource } of unclear)
    console.error(`unclear: ${resource}. Run for longer, or on an idle machine`)
  return unclear.length > 0 ? 3 : 0
}
