/** Deliveries a second that all nodes together have to take. */
const WANTED = 10_000

/** Engines that keep deliveries. The first has no inbox: what its nodes take is what verifying and answering take. */
const ENGINES = { none: 'no inbox', sqlite: 'SQLite', postgres: 'PostgreSQL', redis: 'Redis' }

/** `1,234 (1,200-1,300)` as a number: the median. */
const medianOf = (cell) => Number(cell?.split(' ')[0].replaceAll(',', ''))

/**
 * How many nodes 10,000 deliveries a second take, if each of them does half of what was measured.
 *
 * @param {readonly import('./part.mjs').Table[]} tables of the part inbox
 * @returns {import('./part.mjs').Table}
 */
export function toNodesTable(tables) {
  const rowsWith = (column) => tables.find(({ columns }) => columns.includes(column))?.rows ?? []
  const cells = (rate) => {
    const half = Math.floor(rate / 2)
    return half > 0 ? [half.toLocaleString('en-US'), String(Math.ceil(WANTED / half))] : ['-', '-']
  }
  const rows = Object.entries(ENGINES).map(([name, title]) => {
    const accepted = rowsWith('sent at once').find(([inbox, atOnce]) => inbox === name && atOnce === '50')
    const handled = rowsWith('handled/s').find(([inbox]) => inbox === name)
    return [title, ...cells(medianOf(accepted?.[2])), ...cells(medianOf(handled?.[1]))]
  })
  const columns = ['inbox', 'accepted/s of a node, half of it', 'nodes that accept']
  return {
    title: '10,000 deliveries a second',
    columns: [...columns, 'handled/s of a node, half of it', 'nodes that handle'],
    rows,
  }
}
