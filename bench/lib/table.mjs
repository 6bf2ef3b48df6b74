/** @typedef {import('./part.mjs').Table} Table */

/** Formats a table for the terminal. @param {Table} table */
export function toText({ title, columns, rows }) {
  const lines = [columns, ...rows]
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const write = (line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd()
  return ['', title, ...lines.map((line) => `  ${write(line)}`)].join('\n')
}

/** Formats a table as Markdown. @param {Omit<Table, 'title'> & { title?: string }} table */
export function toMarkdown({ title, columns, rows }) {
  const write = (line) => `| ${line.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  const lines = [write(columns), `|${' --- |'.repeat(columns.length)}`, ...rows.map(write)]
  return [...(title ? [`**${title}**`, ''] : []), ...lines].join('\n')
}
