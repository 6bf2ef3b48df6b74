const MAX_FAULTS = 20

const number = (value) => {
  if (!Number.isFinite(value)) return String(value)
  return Math.abs(value) >= 10 ? value.toFixed(0) : value.toPrecision(2).replace(/^-?0\.0*$/, '0')
}

const toRow =
  (unit) =>
  ({ resource, slope, low, high, limit, outcome }) => ({
    resource,
    [unit]: number(slope),
    interval: `${number(low)} to ${number(high)}`,
    limit,
    verdict: outcome,
  })

/** Prints the tables of a run. */
export function printReport({ seed, run, resources, adapters, restarts }) {
  const samples = run.generations.reduce((sum, { length }) => sum + length, 0)
  console.log(
    `seed ${seed}: ${run.requests} requests in ${run.minutes.toFixed(1)} minutes, ${run.deliveries} deliveries acknowledged and handled, ${samples} samples`,
  )
  console.log('\nSlopes with intervals of 99 % confidence. Heap in bytes, all else as a count.')
  console.table(resources.map(toRow('per request')))
  if (adapters.length > 0) console.table(adapters.map(toRow('per request')))
  console.table(restarts.map(toRow('per restart')))
}

/** Prints what is wrong with a run. @returns {number} the exit code */
export function printVerdict({ run, resources, adapters, restarts }) {
  const faults = [...run.faults]
  for (const [fault, times] of faults.slice(0, MAX_FAULTS)) console.error(`wrong: ${fault} (${times} times)`)
  if (faults.length > MAX_FAULTS) console.error(`and ${faults.length - MAX_FAULTS} more`)

  const rows = [...resources, ...restarts, ...adapters]
  for (const { resource, outcome, slope } of rows) {
    if (outcome === 'leak') console.error(`leak: ${resource} grows by ${number(slope)}`)
  }
  if (faults.length > 0 || rows.some(({ outcome }) => outcome === 'leak')) return 1

  const unclear = [...resources, ...restarts].filter(({ outcome }) => outcome === 'unclear')
  for (const { resource } of unclear)
    console.error(`unclear: ${resource}. Run for longer, or on an idle machine`)
  return unclear.length > 0 ? 3 : 0
}
