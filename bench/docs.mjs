import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toGoalsTable } from './goals.mjs'
import { digits, ROOT, readResults, toMarkdown } from './report.mjs'

/** Matches a generated section between two markers. */
const SECTION = /(<!-- bench: (\w+) -->\n).*?(<!-- end -->)/gs
/** Matches a generated figure within a sentence, for example `<!-- bench: http/ahead -->2.9×<!-- end -->`. */
const FIGURE = /(<!-- bench: (\w+\/[\w/]+) -->).*?(<!-- end -->)/g

/** Inserts the results from `bench/results/` into the pages of `docs/`. */
export function writeDocs() {
  const results = readResults()
  const figures = Object.assign({}, ...[...results.values()].map((result) => result.figures))
  const writeFigure = (id) => {
    if (!figures[id]) throw new Error(`no figure ${id} in bench/results`)
    return `${digits(figures[id].median)}×`
  }
  const writeSection = (name) => {
    if (name === 'goals') return toMarkdown({ ...toGoalsTable(figures), title: undefined })
    const result = results.get(name === 'nodes' ? 'inbox' : name)
    if (!result) return 'Not measured yet.'
    return name === 'nodes' ? toMarkdown(toNodesTable(result.tables)) : writePart(result)
  }
  for (const name of readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))) {
    const page = join(ROOT, 'docs', name)
    const text = readFileSync(page, 'utf8')
      .replace(SECTION, (_, begin, section, end) => `${begin}\n${writeSection(section)}\n\n${end}`)
      .replace(FIGURE, (_, begin, id, end) => `${begin}${writeFigure(id)}${end}`)
    writeFileSync(page, text)
  }
}

function writePart({ date, machine, brackets, versions, tables }) {
  const { cpu, cores, memory, system, node } = machine
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const where = `${cpu}, ${cores} cores, ${memory}, ${system}, Node ${node}; ${packages.join(', ')}`
  const line = `Measured on ${date}: ${where}. The brackets contain ${brackets ?? 'quartiles'}.`
  return [line, ...tables.map(toMarkdown)].join('\n\n')
}

/** Deliveries per second for all nodes together. */
const WANTED = 10_000
/** Rows of the table. The row without an inbox shows the cost of only verifying and responding. */
const ENGINES = { none: 'no inbox', sqlite: 'SQLite', postgres: 'PostgreSQL' }

/** Computes how many nodes 10,000 deliveries per second require, if each node runs at half of the measured rate. */
function toNodesTable(tables) {
  const rowsWith = (column) => tables.find(({ columns }) => columns.includes(column))?.rows ?? []
  /** From a cell like `1,234 (1,200-1,300)`, the number of nodes. */
  const cells = (cell) => {
    const half = Math.floor(Number(cell?.split(' ')[0].replaceAll(',', '')) / 2)
    return half > 0 ? [half.toLocaleString('en-US'), String(Math.ceil(WANTED / half))] : ['-', '-']
  }
  const rows = Object.entries(ENGINES).map(([name, title]) => {
    const accepted = rowsWith('sent at once').find(([inbox, atOnce]) => inbox === name && atOnce === '50')
    const handled = rowsWith('handled/s').find(([inbox]) => inbox === name)
    return [title, ...cells(accepted?.[2]), ...cells(handled?.[1])]
  })
  const columns = ['inbox', 'half of accepted/s', 'nodes to accept', 'half of handled/s', 'nodes to handle']
  return { columns, rows }
}
