/** @typedef {{ median: number, low: number, high: number }} Summary a median with its quartiles */

/**
 * Measures every subject once in each round. Each round has an order of its own, by chance, so that none of them always
 * comes behind the same one; what else the machine does meanwhile slows all of a round.
 *
 * @template Subject, Figure a number, or several together
 * @param {readonly Subject[]} subjects
 * @param {{ rounds: number, warmup?: number, measure(subject: Subject, round: number): Figure | Promise<Figure> }} options
 * @returns {Promise<Map<Subject, Figure[]>>} by subject, one figure for each round
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
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)

/** @param {readonly number[]} figures @returns {Summary} */
export function summarize(figures) {
  const sorted = [...figures].sort((a, b) => a - b)
  const at = (part) => {
    const place = (sorted.length - 1) * part
    const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
    return below + (above - below) * (place % 1)
  }
  return { median: at(0.5), low: at(0.25), high: at(0.75) }
}

/**
 * What one subject is beside another, round by round.
 *
 * @param {readonly number[]} figures
 * @param {readonly number[]} base of the same rounds
 * @returns {Summary}
 */
export const ratio = (figures, base) => summarize(figures.map((figure, round) => figure / base[round]))

/** Milliseconds of one measurement: long enough for the clock, short enough that a disturbance spoils few of them. */
const SLICE = 5

/**
 * How many calls fill a slice.
 *
 * @param {(count: number) => Promise<number>} time milliseconds of one call, of so many in a row
 * @param {number} [slice] milliseconds
 */
export async function countFor(time, slice = SLICE) {
  const filled = async (count) => (await time(count)) * count >= slice
  // Twice in a row: the first calls are slow, because nothing is compiled yet.
  for (let count = 1; ; count *= 2) if ((await filled(count)) && (await filled(count))) return count
}
