import { ratio, summarize } from '../lib/rounds.mjs'

/** @typedef {import('./measure.mjs').Round} Round */

/** @param {readonly Round[]} rounds @param {string} key @param {'rate' | 'cpu'} figure */
export const summary = (rounds, key, figure) =>
  summarize(rounds.filter((round) => round.has(key)).map((round) => round.get(key)[figure]))

/**
 * The requests a second of one subject beside another's, of the rounds that have both.
 *
 * @param {readonly Round[]} rounds
 */
export function rateBeside(rounds, key, base) {
  const both = rounds.filter((round) => round.has(key) && round.has(base))
  const rates = (of) => both.map((round) => round.get(of).rate)
  return ratio(rates(key), rates(base))
}
