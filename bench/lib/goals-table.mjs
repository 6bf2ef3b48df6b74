import { GOALS, isReached } from '../goals.mjs'
import { digits } from './format.mjs'

/** @typedef {import('./rounds.mjs').Summary} Summary */

/**
 * Creates a table of the goals with their measured figures.
 *
 * @param {Readonly<Record<string, Summary>>} figures
 * @returns {import('./part.mjs').Table}
 */
export function toGoalsTable(figures) {
  return {
    title: 'The goals',
    columns: ['figure', 'description', 'goal', 'measured', 'result'],
    rows: GOALS.map(({ id, text, unit, goal }) => {
      const figure = figures[id]
      const write = (value) => `${digits(value)}${unit}`
      const wanted = 'atMost' in goal ? `≤ ${goal.atMost}${unit}` : `≥ ${goal.atLeast}${unit}`
      if (!figure) return [id, text, wanted, '-', 'not measured']
      const { median, low, high } = figure
      const measured = `${write(median)} (${digits(low)}-${digits(high)})`
      return [id, text, wanted, measured, isReached(goal, median) ? 'reached' : 'not reached']
    }),
  }
}
