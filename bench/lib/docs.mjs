import { readFileSync, writeFileSync } from 'node:fs'
import { PARTS } from '../parts.mjs'
import { digits } from './format.mjs'
import { toGoalsTable } from './goals-table.mjs'
import { toNodesTable } from './nodes-table.mjs'
import { DOCS, RESULTS } from './paths.mjs'
import { readFigures, readResult } from './results.mjs'
import { toMarkdown } from './table.mjs'

/** Matches a generated table or section between two markers. */
const SECTION = /(<!-- bench: (\w+) -->\n).*?(<!-- end -->)/gs

/** Matches a generated figure within a sentence, for example `<!-- bench: http/ahead -->2.9×<!-- end -->`. */
const FIGURE = /(<!-- bench: (\w+\/[\w/]+) -->).*?(<!-- end -->)/g

/** The figure that says what the brackets of each part contain. */
const BRACKETS = 'goals/brackets'

/** Ends the name of a marker for the tables of a part. A marker with the name of a part alone is for its plots. */
const TABLES = '_tables'

const WRITERS = { goals: writeGoals, nodes: writeNodes }

/** Inserts the results from `bench/results/` into a page of `docs/`. @param {string} text */
export function fillDocs(text) {
  const figures = readFigures(RESULTS)
  return text
    .replace(SECTION, (_, begin, name, end) => {
      const written = (WRITERS[name] ?? writePart)(name)
      return `${begin}\n${written}\n\n${end}`
    })
    .replace(FIGURE, (_, begin, id, end) => `${begin}${writeFigure(figures, id)}${end}`)
}

export function writeDocs() {
  for (const page of DOCS) writeFileSync(page, fillDocs(readFileSync(page, 'utf8')))
}

function writeFigure(figures, id) {
  if (id === BRACKETS) return writeBrackets()
  if (!figures[id]) throw new Error(`no figure ${id} in bench/results`)
  return `${digits(figures[id].median)}×`
}

function writeGoals() {
  const { columns, rows } = toGoalsTable(readFigures(RESULTS))
  const cells = rows.map(([id, ...others]) => [`\`${id}\``, ...others])
  return toMarkdown({ columns, rows: cells })
}

function writeNodes() {
  const result = readResult(RESULTS, 'inbox')
  return result ? toMarkdown(toNodesTable(result.tables)) : 'Not measured yet.'
}

function writePart(name) {
  const result = readResult(RESULTS, name.replace(TABLES, ''))
  if (!result) return 'Not measured yet.'
  if (name.endsWith(TABLES)) return [writeMachine(result), ...result.tables.map(toMarkdown)].join('\n\n')
  return result.plots.map(({ name, title }) => `![${title}](plots/${name}.svg)`).join('\n\n')
}

/** Names what the brackets contain, with the parts if these differ. */
function writeBrackets() {
  const parts = new Map()
  for (const part of PARTS) {
    const result = readResult(RESULTS, part)
    if (!result) continue
    const brackets = bracketsOf(result)
    parts.set(brackets, [...(parts.get(brackets) ?? []), `\`${part}\``])
  }
  if (parts.size < 2) return [...parts.keys()].join()
  return [...parts].map(([brackets, names]) => `${brackets} for ${names.join(', ')}`).join('; ')
}

const bracketsOf = ({ brackets = 'quartiles' }) => brackets

function writeMachine({ date, machine, brackets, versions }) {
  const { cpu, cores, memory, system, node } = machine
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return `Measured on ${date}: ${cpu}, ${cores} cores, ${memory}, ${system}, Node ${node}; ${packages.join(', ')}. The brackets contain ${bracketsOf({ brackets })}.`
}
