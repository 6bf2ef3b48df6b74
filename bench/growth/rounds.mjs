import { countFor, interleave } from '../lib/rounds.mjs'

/**
 * Measures each subject once per round. Returns the milliseconds per call, by subject.
 *
 * @template {{ time(count: number): Promise<number> }} Subject
 * @param {readonly Subject[]} subjects
 * @param {boolean} smoke
 * @returns {Promise<Map<Subject, number[]>>}
 */
export async function measureAll(subjects, smoke) {
  const counts = new Map()
  for (const subject of subjects) counts.set(subject, smoke ? 1 : await countFor(subject.time))
  return interleave(subjects, {
    rounds: smoke ? 1 : 51,
    seconds: 2,
    warmup: smoke ? 0 : 1,
    measure: (subject) => subject.time(counts.get(subject)),
  })
}
