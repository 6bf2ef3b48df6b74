import { largestT, median } from './statistics.mjs'

/** |t| from which a difference is certain. From 4.5 it is likely. Both are the limits of dudect. */
const CERTAIN = 10
const LIKELY = 4.5
/**
 * Nanoseconds from which a certain difference counts, unless a pair has its own limit. Crosby, Wallach and Riedi (TISSEC
 * 2009) could tell 20 µs apart over the internet, and 100 ns within a data centre.
 */
const VISIBLE = 2000

/**
 * Compares the times of both sides, in milliseconds. All results are in nanoseconds. Secret pairs fail if they differ
 * visibly, controls if no difference is certain, and all pairs if t is not finite.
 *
 * @param {Pick<import('./pairs.mjs').Pair, 'kind' | 'visible'> & { times: [number[], number[]] }} pair
 */
export function judge({ kind = 'secret', visible = VISIBLE, times: [a, b] }) {
  const { t, difference } = largestT(a, b)
  const result = {
    kind,
    time: median(b) * 1e6,
    difference: (median(a) - median(b)) * 1e6,
    meanDifference: difference * 1e6,
    t,
  }
  // A median does not show a difference that only some of the requests have, but a mean does.
  const largest = Math.max(Math.abs(result.difference), Math.abs(result.meanDifference))
  const verdict = verdictOf(t, largest >= visible)
  const isMissed = kind === 'control' && Math.abs(t) < CERTAIN
  const isFound = kind === 'secret' && verdict === 'visible'
  return { ...result, verdict, hasFailed: verdict === 'no result' || isMissed || isFound }
}

function verdictOf(t, isVisible) {
  if (!Number.isFinite(t)) return 'no result'
  if (Math.abs(t) < LIKELY) return 'none'
  if (Math.abs(t) < CERTAIN) return 'uncertain'
  return isVisible ? 'visible' : 'too small to see'
}
