import type { InboxEntry } from '../../inbox/index.ts'
import type { Io } from '../terminal/io.ts'
import { toTable } from '../terminal/table.ts'

const COLUMNS = ['id', 'state', 'attempts', 'received', 'next or end', 'change types', 'size'] as const

const CHANGE_TYPES_LENGTH = 60

/** Formats entries as a table. The last column contains the error, truncated to the width of the terminal. */
export function toEntryTable(io: Io, entries: readonly InboxEntry[]): Promise<string> {
  const rows = entries.map((entry) => toRow(io, entry))
  const length = io.restOfLine(widthOf(rows))
  return toTable(
    io,
    [...COLUMNS, 'error'],
    rows.map((row, index) => [...row, io.shortened(toOneLine(entries[index]?.error ?? ''), length)]),
  )
}

const toRow = (
  io: Io,
  { id, state, attempts, receivedAt, dueAt, endedAt, changeTypes, size }: InboxEntry,
): string[] => [
  io.shortened(id),
  state,
  String(attempts),
  receivedAt.toISOString(),
  (dueAt ?? endedAt)?.toISOString() ?? '',
  io.shortened(changeTypes.join(','), CHANGE_TYPES_LENGTH),
  String(size),
]

/** Returns the total width of all columns before the error, including the gaps. */
const widthOf = (rows: readonly (readonly string[])[]): number =>
  COLUMNS.reduce(
    (sum, head, column) => sum + 2 + Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
    0,
  )

const toOneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()
