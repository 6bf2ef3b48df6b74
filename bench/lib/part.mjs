/**
 * Types of a part of the suite: a module in `bench/parts/` with a function `run`, which measures and reports.
 *
 * @typedef {import('./rounds.mjs').Summary} Summary
 *
 * @typedef {object} PartOptions
 * @property {boolean} smoke measures as little as possible, to check that everything works
 * @property {(line: string) => void} say
 * @property {readonly string[]} [engines] the inbox engines to measure; default: all
 *
 * @typedef {{ title: string, columns: readonly string[], rows: readonly (readonly string[])[] }} Table
 *
 * @typedef {object} Plot
 * @property {string} name of the file in `bench/results/`, without `.svg`
 * @property {string} title
 * @property {'bars' | 'lines'} kind bars: one per x, with a panel per series
 * @property {string} x title of the axis, which bars do not show
 * @property {string} y title of the axis
 * @property {boolean} [logX]
 * @property {boolean} [logY]
 * @property {number} [base] baseline of bars, 1 for ratios: drawn as a line, and the start of bars on a log axis
 * @property {readonly { series?: string, y: number }[]} [goals] lines at y, for one series or for all
 * @property {readonly { series: string, x: string | number, y: number, low?: number, high?: number }[]} points
 *
 * @typedef {object} Report
 * @property {readonly Table[]} tables for the terminal and docs/performance.md
 * @property {Record<string, Summary>} figures by id, as in `goals.mjs`
 * @property {readonly Plot[]} plots
 * @property {readonly string[]} [leftOut] goals that this run could not measure
 * @property {Record<string, string>} [versions] of the measured packages
 *
 * @typedef {(options: PartOptions) => Promise<Report>} Run
 */
export {}
