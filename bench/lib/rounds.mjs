/** @typedef {{ median: number, low: number, high: number }} Summary a median and its quartiles */

/**
 * Measures every subject once per round, in random order, so that none always follows the same one. Other work on the
 * machine then slows down all subjects of a round.
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
 * The ratio of two subjects, computed within each round.
 *
 * @param {readonly number[]} figures
 * @param {readonly number[]} base of the same rounds
 * @returns {Summary}
 */
export const ratio = (figures, base) => summarize(figures.map((figure, round) => figure / base[round]))

/** Milliseconds per measurement: long enough for the clock, short enough that interruptions affect only a few. */
const SLICE = 5

/**
 * Finds the number of calls that fill a slice.
 *
 * @param {(count: number) => Promise<number>} time mean milliseconds of `count` calls in a row
 * @param {number} [slice] milliseconds
 */
export async function countFor(time, slice = SLICE) {
  const filled = async (count) => (await time(count)) * count >= slice
  // Twice in a row, because the first calls are slow until V8 compiles them.
  for (let count = 1; ; count *= 2) if ((await filled(count)) && (await filled(count))) return count
}
