/** Deliveries per second for all nodes together. */
const WANTED = 10_000

/** Rows of the table. The row without an inbox shows the cost of only verifying and responding. */
const ENGINES = { none: 'no inbox', sqlite: 'SQLite', postgres: 'PostgreSQL', redis: 'Redis' }

/** Parses the median from a cell like `1,234 (1,200-1,300)`. */
const medianOf = (cell) => Number(cell?.split(' ')[0].replaceAll(',', ''))

/**
 * Computes how many nodes 10,000 deliveries per second require, if each node runs at half of the measured rate.
 *
 * @param {readonly import('./part.mjs').Table[]} tables the tables of the `inbox` part
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
  return {
    title: '10,000 deliveries per second',
    columns: ['inbox', 'half of accepted/s', 'nodes to accept', 'half of handled/s', 'nodes to handle'],
    rows,
  }
}
