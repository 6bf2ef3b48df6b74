/**
 * Types for the parts of the suite. A part is a module in `bench/parts/` whose function `run` measures and reports.
 *
 * @typedef {import('./rounds.mjs').Summary} Summary
 *
 * @typedef {object} PartOptions
 * @property {boolean} smoke true to measure as little as possible, only to check that everything works
 * @property {(line: string) => void} say
 * @property {readonly string[]} [engines] the inbox engines to measure; default: all
 *
 * @typedef {{ title: string, columns: readonly string[], rows: readonly (readonly string[])[] }} Table
 *
 * @typedef {object} Plot
 * @property {string} name of the file in `docs/plots/`, without `.svg`
 * @property {string} title
 * @property {'bars' | 'lines'} kind with `bars`, each series has a panel with one bar per x
 * @property {string} x title of the x axis; not shown for bars
 * @property {string} y title of the y axis
 * @property {boolean} [logX]
 * @property {boolean} [logY]
 * @property {number} [base] baseline of bars, for example 1 for ratios; shown as a line. On a log axis, bars start here
 * @property {readonly { series?: string, y: number }[]} [goals] horizontal lines at `y`, in one series or in all
 * @property {readonly { series: string, x: string | number, y: number, low?: number, high?: number }[]} points
 *
 * @typedef {object} Report
 * @property {readonly Table[]} tables for the terminal and docs/benchmarks.md
 * @property {Record<string, Summary>} figures by id, as in `goals.mjs`
 * @property {readonly Plot[]} plots
 * @property {readonly string[]} [leftOut] goals that this run could not measure
 * @property {Record<string, string>} [versions] of the measured packages
 *
 * @typedef {(options: PartOptions) => Promise<Report>} Run
 */
export {}
