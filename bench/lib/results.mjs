import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { machine } from './machine.mjs'
import { PLOTS, RESULTS } from './paths.mjs'
import { versionsOf } from './versions.mjs'

/**
 * The stored result of a part: its report, without the plots, which are separate files.
 *
 * @typedef {object} Result
 * @property {string} part
 * @property {string} date
 * @property {ReturnType<typeof machine>} machine
 * @property {string} [brackets] what the brackets contain; older results lack this member, and have quartiles
 * @property {Record<string, string>} versions
 * @property {Record<string, import('./rounds.mjs').Summary>} figures
 * @property {readonly import('./part.mjs').Table[]} tables
 * @property {readonly { name: string, title: string }[]} plots
 */

/**
 * @param {string} folder
 * @param {string} part
 * @param {import('./part.mjs').Report} report
 */
export async function writeResult(folder, part, { figures, tables, plots, versions }) {
  // Imported only when needed, because Vega loads slowly.
  const { toSvg } = await import('./plot.mjs')
  const plotFolder = folder === RESULTS ? PLOTS : folder
  for (const path of [folder, plotFolder]) mkdirSync(path, { recursive: true })
  const old = readResult(folder, part)
  for (const { name } of old?.plots ?? []) rmSync(join(plotFolder, `${name}.svg`), { force: true })
  for (const plot of plots) writeFileSync(join(plotFolder, `${plot.name}.svg`), await toSvg(plot))
  /** @type {Result} */
  const result = {
    part,
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    brackets: '95 % confidence intervals',
    versions: { ...versionsOf(['geohook']), ...versions },
    figures,
    tables,
    plots: plots.map(({ name, title }) => ({ name, title })),
  }
  writeFileSync(join(folder, `${part}.json`), `${JSON.stringify(result, null, 2)}\n`)
}

/** @returns {Result | undefined} */
export function readResult(folder, part) {
  const file = join(folder, `${part}.json`)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** Reads the stored figures of all parts. @returns {Record<string, import('./rounds.mjs').Summary>} */
export function readFigures(folder) {
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : []
  return Object.assign({}, ...files.map((file) => readResult(folder, file.slice(0, -'.json'.length)).figures))
}
