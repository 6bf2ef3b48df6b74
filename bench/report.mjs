import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Types for the parts of the suite. A part is a module whose function `run` measures and reports.
 *
 * @typedef {{ median: number, low: number, high: number }} Summary a median and its 95 % confidence interval
 * @typedef {{ title: string, columns: readonly string[], rows: readonly (readonly string[])[] }} Table
 * @typedef {{ tables: Table[], figures: Record<string, Summary>, versions?: Record<string, string> }} Report
 * @typedef {{ smoke: boolean, say(line: string): void, engines?: readonly string[] }} Options
 * @typedef {(options: Options) => Promise<Report>} Run
 */

export const ROOT = fileURLToPath(new URL('../', import.meta.url))
export const RESULTS = join(ROOT, 'bench/results')

/** Formats a number with thousands separators and a fixed number of decimals. */
export const number = (value, decimals = 0) =>
  value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })

/** Formats a number with about three significant digits. */
export function digits(value) {
  const size = Math.abs(value)
  if (size >= 100 || size === 0) return number(value)
  return number(value, size >= 10 ? 1 : size >= 0.1 ? 2 : 3)
}

/** Formats a median and its interval: `0.52 (0.51-0.54)`. */
export const spread = ({ median, low, high }, factor = 1) =>
  `${digits(median * factor)} (${digits(low * factor)}-${digits(high * factor)})`

/** Formats a median and its interval as a factor: `0.52× (0.51-0.54)`. */
export const times = ({ median, low, high }) => `${digits(median)}× (${digits(low)}-${digits(high)})`

/** Formats a table for the terminal. */
export function toText({ title, columns, rows }) {
  const lines = [columns, ...rows]
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const write = (line) => line.map((cell, column) => cell.padEnd(widths[column])).join('  ')
  return ['', title, ...lines.map((line) => `  ${write(line).trimEnd()}`)].join('\n')
}

/** Formats a table as Markdown. */
export function toMarkdown({ title, columns, rows }) {
  const write = (line) => `| ${line.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  const lines = [write(columns), `|${' --- |'.repeat(columns.length)}`, ...rows.map(write)]
  return [...(title ? [`**${title}**`, ''] : []), ...lines].join('\n')
}

/** Properties of the machine that affect the figures but do not identify the machine. */
export const machine = () => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memory: `${(totalmem() / 1024 ** 3).toFixed(1)} GiB`,
  system: `${type()} ${release()} ${arch()}`,
  node: process.version,
})

/** The measured version of each package. Packages in bench/node_modules take precedence, as for `import`. */
export function versionsOf(names) {
  const folders = ['bench/node_modules', 'node_modules'].map((folder) => join(ROOT, folder))
  return Object.fromEntries(
    names.map((name) => {
      const file = folders.map((folder) => join(folder, name, 'package.json')).find(existsSync)
      if (!file) throw new Error(`${name} is not installed`)
      return [name, JSON.parse(readFileSync(file, 'utf8')).version]
    }),
  )
}

/** Writes the report of a part. */
export function writeResult(folder, part, { figures, tables, versions }) {
  mkdirSync(folder, { recursive: true })
  const result = {
    part,
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    brackets: '95 % confidence intervals',
    versions: { ...versionsOf(['geohook']), ...versions },
    figures,
    tables,
  }
  writeFileSync(join(folder, `${part}.json`), `${JSON.stringify(result, null, 2)}\n`)
}

/** Reads the stored results of all parts, by part. */
export function readResults(folder = RESULTS) {
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : []
  const results = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
  return new Map(results.map((result) => [result.part, result]))
}
