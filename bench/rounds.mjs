/** @typedef {{ median: number, low: number, high: number }} Summary a median and its 95 % confidence interval */

/** Rounds to measure in any case, if the plan has as many: with five, the interval is the whole range. */
const MIN_ROUNDS = 6
/** Width of the interval of a ratio, relative to its median, that needs no further rounds. */
const PRECISE = 0.02

/**
 * Measures every subject once per round, so that other work on the machine affects all subjects alike. The order within
 * a round is random, so that no subject always follows the same other subject.
 *
 * Ends before the last round if all figures are numbers, and their ratios to those of the first subject are precise; or
 * after `seconds`, not counting the warm-up.
 *
 * @template Subject, Figure
 * @param {readonly Subject[]} subjects
 * @param {{ rounds: number, seconds?: number, warmup?: number, measure(subject: Subject, round: number): Figure | Promise<Figure> }} options
 * @returns {Promise<Map<Subject, Figure[]>>} by subject, one figure per round
 */
export async function interleave(
  subjects,
  { rounds, seconds = Number.POSITIVE_INFINITY, warmup = 1, measure },
) {
  const figures = new Map(subjects.map((subject) => [subject, []]))
  let started = performance.now()
  for (let round = -warmup; round < rounds; round++) {
    if (round === 0) started = performance.now()
    const isLate = performance.now() - started > seconds * 1000
    if (round >= MIN_ROUNDS && (isLate || arePrecise([...figures.values()]))) break
    for (const subject of shuffle(subjects)) {
      const figure = await measure(subject, round)
      if (round >= 0) figures.get(subject).push(figure)
    }
  }
  return figures
}

const shuffle = (list) =>
  list
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item)

/** True if the ratios of all subjects to the first one have narrow intervals. */
function arePrecise([base, ...others]) {
  if (others.length === 0 || typeof base[0] !== 'number') return false
  return others.every((figures) => {
    const { median, low, high } = ratio(figures, base)
    return (high - low) / median < PRECISE
  })
}

/**
 * Computes the median, and the confidence interval that needs no assumption about the distribution: the narrowest pair
 * of figures, equally far from both ends, between which the median lies with a probability of at least 95 %. With fewer
 * than six figures no such pair exists, and the interval is their range.
 *
 * @param {readonly number[]} figures
 * @returns {Summary}
 */
export function summarize(figures) {
  const sorted = [...figures].sort((a, b) => a - b)
  const { length } = sorted
  // The number of figures below the median has a binomial distribution. `outside` is the probability of at most `skipped`.
  let skipped = 0
  let term = 0.5 ** length
  for (let outside = term; ; skipped++) {
    term *= (length - skipped) / (skipped + 1)
    outside += term
    if (outside > 0.025) break
  }
  const middle = [sorted[Math.floor((length - 1) / 2)], sorted[Math.ceil((length - 1) / 2)]]
  return { median: (middle[0] + middle[1]) / 2, low: sorted[skipped], high: sorted[length - 1 - skipped] }
}

/**
 * Computes the ratio of two subjects within each round, and summarizes the ratios.
 *
 * @param {readonly number[]} figures
 * @param {readonly number[]} base figures of the other subject in the same rounds
 * @returns {Summary}
 */
export const ratio = (figures, base) => summarize(figures.map((figure, round) => figure / base[round]))

/** Milliseconds per measurement: long enough to measure precisely, and short enough to be rarely interrupted. */
const SLICE = 5

/**
 * Finds a number of calls that takes at least `slice` milliseconds.
 *
 * @param {(count: number) => Promise<number>} time returns the mean milliseconds of `count` consecutive calls
 * @param {number} [slice] milliseconds
 */
export async function countFor(time, slice = SLICE) {
  const filled = async (count) => (await time(count)) * count >= slice
  // Requires two consecutive successes, because the first calls are slow until V8 compiles the code.
  for (let count = 1; ; count *= 2) if ((await filled(count)) && (await filled(count))) return count
}
