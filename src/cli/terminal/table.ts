import { paint } from './output.ts'

const GAP = '  '

/**
 * A plain table: columns that line up as people see them, without borders. The cells are one line each.
 *
 * @param rows as many as there are: the work grows with their number and not faster
 */
export async function toTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<string> {
  const { default: widthOf } = await import('string-width')
  const cells = [head, ...rows].map((row) => row.map((text) => ({ text, width: widthOf(text) })))
  const widths = head.map((_, column) =>
    cells.reduce((widest, row) => Math.max(widest, row[column]?.width ?? 0), 0),
  )
  const lines = cells.map((row) =>
    row
      .map(({ text, width }, column) => text + ' '.repeat((widths[column] ?? 0) - width))
      .join(GAP)
      .trimEnd(),
  )
  return [paint.dim(lines[0] ?? ''), ...lines.slice(1)].join('\n')
}
