/**
 * What a part of the suite is: a module in `bench/parts/` with `run`, which measures and reports, and never judges.
 *
 * @typedef {import('./rounds.mjs').Summary} Summary
 *
 * @typedef {object} PartOptions
 * @property {boolean} smoke as little as shows that all of it works
 * @property {(line: string) => void} say
 * @property {readonly string[]} [engines] those of the inboxes that are measured; all, unless it is given
 *
 * @typedef {{ title: string, columns: readonly string[], rows: readonly (readonly string[])[] }} Table
 *
 * @typedef {object} Plot
 * @property {string} name of the file in `bench/results/`, without `.svg`
 * @property {string} title
 * @property {'bars' | 'lines'} kind bars: one for each x, below one another, in a panel for each series
 * @property {string} x title of the axis; of bars none is drawn, their names say it
 * @property {string} y title of the axis
 * @property {boolean} [logX]
 * @property {boolean} [logY]
 * @property {number} [base] what bars are read beside, 1 for ratios: a line, and on a log axis where bars begin
 * @property {readonly { series?: string, y: number }[]} [goals] a line at y, for one series or for all
 * @property {readonly { series: string, x: string | number, y: number, low?: number, high?: number }[]} points
 *
 * @typedef {object} Report
 * @property {readonly Table[]} tables for the terminal and docs/performance.md
 * @property {Record<string, Summary>} figures by the name that `goals.mjs` has for them
 * @property {readonly Plot[]} plots
 * @property {readonly string[]} [leftOut] goals that this run could not measure
 * @property {Record<string, string>} [versions] of the packages that were measured
 *
 * @typedef {(options: PartOptions) => Promise<Report>} Run
 */
export {}
