import type { Io } from './io.ts'

const GAP = '  '

/**
 * Formats a table without borders, and aligns its columns by display width. Takes linear time, because a large service
 * can have thousands of webhooks.
 *
 * @param rows rows of cells; a cell must not contain line breaks
 */
export async function toTable(
  { colours }: Io,
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
