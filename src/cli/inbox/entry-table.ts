import type { InboxEntry } from '../../inbox/index.ts'
import { printable, shortened } from '../terminal/printable.ts'
import { toTable } from '../terminal/table.ts'

const COLUMNS = ['id', 'state', 'attempts', 'received', 'next or end', 'change types', 'size'] as const

/** Where it is no terminal that could be too narrow. */
const ERROR_LENGTH = 80
const SHORTEST_ERROR = 20
const TYPES_LENGTH = 60

/** The deliveries of an inbox as a table. The errors, which come last, fill the line of a terminal. */
export function toEntryTable(entries: readonly InboxEntry[]): Promise<string> {
  const rows = entries.map(toRow)
  const { isTTY, columns } = process.stdout
  const length = isTTY ? Math.max(SHORTEST_ERROR, (columns || ERROR_LENGTH) - widthOf(rows)) : ERROR_LENGTH
  return toTable(
    [...COLUMNS, 'error'],
    rows.map((row, index) => [...row, shortened(oneLine(entries[index]?.error ?? ''), length)]),
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
  shortened(changeTypes.join(','), TYPES_LENGTH),
  String(size),
]

/** Columns with the gaps behind them. */
const widthOf = (rows: readonly (readonly string[])[]): number =>
  COLUMNS.reduce(
    (sum, head, column) => sum + 2 + Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
    0,
  )

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** Text in several lines, each as it may be printed, and indented as it is. */
export const printableLines = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => line.split('\t').map(printable).join('\t'))

/** `1 delivery`, `2 deliveries`. */
export const deliveries = (number: number): string => `${number} ${number === 1 ? 'delivery' : 'deliveries'}`

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
]

/** How long ago, in the largest unit of which there are two at least. */
export function toAge(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => milliseconds >= 2 * size) ?? ['s', 1_000]
  return `${Math.max(0, Math.floor(milliseconds / size))} ${unit}`
}
