import type { InboxEntry } from '../../inbox/index.ts'
import { shortened } from '../terminal/printable.ts'
import { toTable } from '../terminal/table.ts'

const COLUMNS = ['id', 'state', 'attempts', 'received', 'next or end', 'change types', 'size'] as const

/** Maximum number of characters of an error if the output is not a terminal. */
const ERROR_LENGTH = 80
const MIN_ERROR_LENGTH = 20
const CHANGE_TYPES_LENGTH = 60

/** Formats entries as a table. The last column contains the error, truncated to the width of the terminal. */
export function toEntryTable(entries: readonly InboxEntry[]): Promise<string> {
  const rows = entries.map(toRow)
  const { isTTY, columns } = process.stdout
  const length = isTTY ? Math.max(MIN_ERROR_LENGTH, (columns || ERROR_LENGTH) - widthOf(rows)) : ERROR_LENGTH
  return toTable(
    [...COLUMNS, 'error'],
    rows.map((row, index) => [...row, shortened(toOneLine(entries[index]?.error ?? ''), length)]),
  )
}

const toRow = ({
  id,
  state,
  attempts,
  receivedAt,
  dueAt,
  endedAt,
  changeTypes,
  size,
}: InboxEntry): string[] => [
  shortened(id),
  state,
  String(attempts),
  receivedAt.toISOString(),
  (dueAt ?? endedAt)?.toISOString() ?? '',
  shortened(changeTypes.join(','), CHANGE_TYPES_LENGTH),
  String(size),
]

/** Returns the total width of all columns before the error, including the gaps. */
const widthOf = (rows: readonly (readonly string[])[]): number =>
  COLUMNS.reduce(
    (sum, head, column) => sum + 2 + Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
    0,
  )

const toOneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()
