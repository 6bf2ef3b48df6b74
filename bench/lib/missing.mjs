import { GOALS } from '../goals.mjs'

/**
 * Finds missing figures and invalid tables and plots in the report of a part.
 *
 * @param {string} part
 * @param {import('./part.mjs').Report} report
 * @returns {string[]} descriptions of the problems
 */
export function missingIn(part, { figures, tables, plots, leftOut = [] }) {
  const isFigure = (figure) => [figure?.median, figure?.low, figure?.high].every(Number.isFinite)
  const expected = GOALS.map(({ id }) => id).filter(
    (id) => id.startsWith(`${part}/`) && !leftOut.includes(id),
  )
  const names = [...new Set([...expected, ...Object.keys(figures)])]
  return [
    ...names.filter((id) => !isFigure(figures[id])).map((id) => `no figure ${id}`),
    ...(tables.length === 0 ? ['no table'] : []),
    ...tables
      .filter(({ columns, rows }) => rows.length === 0 || rows.some((row) => row.length !== columns.length))
      .map(({ title }) => `no rows or invalid rows: ${title}`),
    ...plots
      .filter(({ points }) => points.length === 0 || !points.every(({ y }) => Number.isFinite(y)))
      .map(({ name }) => `no points or invalid points: ${name}`),
  ]
}
