import { ratio, summarize } from '../lib/rounds.mjs'

/** @typedef {import('./measure.mjs').Round} Round */

/** @param {readonly Round[]} rounds @param {string} key @param {'rate' | 'cpu'} figure */
export const summary = (rounds, key, figure) =>
  summarize(rounds.filter((round) => round.has(key)).map((round) => round.get(key)[figure]))

/**
 * The ratio of requests per second of two subjects, from the rounds that measured both.
 *
 * @param {readonly Round[]} rounds
 */
export function rateRatio(rounds, key, base) {
  const both = rounds.filter((round) => round.has(key) && round.has(base))
  const rates = (of) => both.map((round) => round.get(of).rate)
  return ratio(rates(key), rates(base))
}
