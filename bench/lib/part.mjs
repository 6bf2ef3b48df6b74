/**
 * What a part of the suite is: a module in `bench/parts/` with `run`, which measures and reports, and never judges.
 *
 * @typedef {import('./rounds.mjs').Summary} Summary
 *
 * @typedef {{ smoke: boolean, say(line: string): void }} PartOptions `smoke`: as little as shows that all of it works
 *
 * @typedef {{ title: string, columns: readonly string[], rows: readonly (readonly string[])[] }} Table
 *
 * @typedef {object} Plot
 * @property {string} name of the file in `bench/results/`, without `.svg`
 * @property {string} title
 * @property {'bars' | 'lines'} kind
 * @property {string} x title of the axis
 * @property {string} y title of the axis
 * @property {readonly { series: string, x: string | number, y: number, low?: number, high?: number }[]} points
 *
 * @typedef {object} Report
 * @property {readonly Table[]} tables for the terminal and docs/performance.md
 * @property {Record<string, Summary>} figures by the name that `goals.mjs` has for them
 * @property {readonly Plot[]} plots
 * @property {Record<string, string>} [versions] of the packages that were measured
 *
 * @typedef {(options: PartOptions) => Promise<Report>} Run
 */
export {}
