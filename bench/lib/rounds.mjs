/** @typedef {{ median: number, low: number, high: number }} Summary a median and its quartiles */

/**
 * Measures every subject once per round, so that other work on the machine affects all subjects alike. The order within
 * a round is random, so that no subject always follows the same other subject.
 *
 * @template Subject, Figure
 * @param {readonly Subject[]} subjects
 * @param {{ rounds: number, warmup?: number, measure(subject: Subject, round: number): Figure | Promise<Figure> }} options
 * @returns {Promise<Map<Subject, Figure[]>>} by subject, one figure per round
 */
export async function interleave(subjects, { rounds, warmup = 1, measure }) {
  const figures = new Map(subjects.map((subject) => [subject, []]))
  for (let round = -warmup; round < rounds; round++) {
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

/** @param {readonly number[]} figures @returns {Summary} */
export function summarize(figures) {
  const sorted = [...figures].sort((a, b) => a - b)
  const at = (part) => {
    const position = (sorted.length - 1) * part
    const [below, above] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]]
    return below + (above - below) * (position % 1)
  }
  return { median: at(0.5), low: at(0.25), high: at(0.75) }
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
