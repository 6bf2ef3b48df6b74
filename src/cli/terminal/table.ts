import { colours } from './output.ts'

const GAP = '  '

/**
 * Formats a table without borders whose columns align by display width. Takes linear time, so it can hold every webhook
 * of a large service.
 *
 * @param rows cells of one line each
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
  return [colours.dim(lines[0] ?? ''), ...lines.slice(1)].join('\n')
}
