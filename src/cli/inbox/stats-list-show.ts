import { isUtf8 } from 'node:buffer'
import type { Command } from 'commander'
import type { InboxEntry, InboxItem, InboxState } from '../../inbox/index.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { createRedactor } from '../../shared/redact.ts'
import { count } from '../../shared/words.ts'
import { CliCommand } from '../options/command.ts'
import { wholeNumber } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'
import { printable, printableLines } from '../terminal/printable.ts'
import { deliveryId, deliveryNotFound } from './batch.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store.ts'

export function createInboxStatsCommand(io: Io): Command {
  return new CliCommand('stats')
    .summary('count the deliveries of an inbox by state')
    .description(
      'Counts the deliveries of an inbox by state, and prints how long the oldest has been waiting.',
    )
    .with(addStoreOptions)
    .examples('geohook inbox stats --store inbox.db')
    .action(async (options: StoreOptions) => {
      const { waiting, active, done, dead, oldest } = await withInbox(io, options, (inbox) => inbox.stats())
      const counts = { waiting, active, done, dead }
      const age = oldest && Math.max(0, Date.now() - oldest.getTime())
      if (io.json) return io.printJson({ ...counts, oldest, age })
      const rows = Object.entries(counts).map(([state, number]) => [state, String(number)])
      io.printTable(['state', 'deliveries'], rows)
      if (oldest && age !== undefined) io.print(`oldest waiting: ${oldest.toISOString()}, ${toAge(age)} ago`)
    })
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
]

/** Formats a duration in the largest unit that gives a value of at least 2, or else in seconds. */
function toAge(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => milliseconds >= 2 * size) ?? ['s', 1_000]
  return `${Math.max(0, Math.floor(milliseconds / size))} ${unit}`
}

interface Options extends StoreOptions {
  state?: InboxState
  limit: number
  after?: string
}

export function createInboxListCommand(io: Io): Command {
  return new CliCommand('list')
    .summary('list the deliveries of an inbox')
    .description('Lists the deliveries of an inbox, oldest first.')
    .choice('--state <name>', 'only deliveries in this state', ['waiting', 'active', 'done', 'dead'])
    .option('--limit <n>', 'maximum number of deliveries, 1 to 1000', wholeNumber(1, 1_000), 100)
    .option('--after <cursor>', 'cursor that the previous list printed, to continue after it')
    .with(addStoreOptions)
    .examples(
      'geohook inbox list --state dead --store inbox.db',
      'geohook inbox list --limit 1000 --json --store-file store.txt',
    )
    .action(async (options: Options) => {
      const { state, limit, after } = options
      const page = await withInbox(io, options, (inbox) => inbox.list({ state, limit, after }))
      if (io.json) return io.printJson(page)
      if (page.entries.length === 0) io.print('there are no deliveries')
      else printEntries(io, page.entries)
      if (page.next !== undefined)
        io.print(io.colours.dim(`there may be more: --after ${printable(page.next)}`))
    })
}

export function createInboxShowCommand(io: Io): Command {
  return new CliCommand('show')
    .summary('show one delivery with its headers and body')
    .description(
      'Shows everything about one delivery, and the first 16 KiB of a text body. ' +
        '"geohook inbox export" writes the exact bytes.',
    )
    .argument('<id>', 'id of the delivery', deliveryId)
    .with(addStoreOptions)
    .examples('geohook inbox show 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db')
    .action(async (id: string, options: StoreOptions) => {
      const item = await withInbox(io, options, (inbox) => inbox.get(id))
      if (!item) throw deliveryNotFound(id)
      io.printResult(toItemJson(io, item), () => printItem(io, item))
    })
}

const COLUMNS = ['id', 'state', 'attempts', 'received', 'next or end', 'change types', 'size']

const CHANGE_TYPES_LENGTH = 60

function printEntries(io: Io, entries: readonly InboxEntry[]): void {
  const rows = entries.map(({ id, state, attempts, receivedAt, dueAt, endedAt, changeTypes, size }) => [
    io.shortened(id),
    state,
    String(attempts),
    receivedAt.toISOString(),
    (dueAt ?? endedAt)?.toISOString() ?? '',
    io.shortened(changeTypes.join(','), CHANGE_TYPES_LENGTH),
    String(size),
  ])
  const errors = entries.map(({ error = '' }) => error.replace(/\s+/g, ' ').trim())
  io.printTable(COLUMNS, rows, { head: 'error', cells: errors })
}

/** Maximum number of body bytes to print. */
const MAX_PRINTED = 16 * 1024

/** Returns the headers of a delivery as in captures: a name and value pair for each value. Redacts secrets. */
export const headersOf = (io: Io, { delivery }: InboxItem): HeaderPairs =>
  createRedactor(io.secrets).headers(delivery.headers)

/** Returns the start of a text body, or undefined for a binary body. */
function startOfText(body: Uint8Array): string | undefined {
  if (!isUtf8(body)) return undefined
  // With `stream`, the decoder omits an incomplete character at the end.
  const text = new TextDecoder().decode(body.subarray(0, MAX_PRINTED), { stream: true })
  return text.includes('\0') ? undefined : text
}

/** Converts a delivery to JSON. `body` contains the exact bytes in base64, as in a capture. */
function toItemJson(io: Io, item: InboxItem): object {
  const { delivery, ...entry } = item
  const { contentType, profile, keyIndex, tenant, rawBody } = delivery
  return {
    ...entry,
    contentType,
    profile,
    keyIndex,
    tenant,
    headers: headersOf(io, item),
    text: startOfText(rawBody),
    body: Buffer.from(rawBody).toString('base64'),
  }
}

function printItem(io: Io, item: InboxItem): void {
  const { id, state, attempts, changeTypes, receivedAt, dueAt, endedAt, error, size, delivery } = item
  const members: [string, string | undefined][] = [
    ['id', id],
    ['state', state],
    ['attempts', String(attempts)],
    ['received', receivedAt.toISOString()],
    ['next', dueAt?.toISOString()],
    ['ended', endedAt?.toISOString()],
    ['change types', changeTypes.join(',')],
    ['profile', delivery.profile],
    ['tenant', delivery.tenant],
    ['key', delivery.keyIndex === undefined ? 'none: it was not signed' : `number ${delivery.keyIndex + 1}`],
    ['content type', delivery.contentType],
    ['size', count(size, 'byte')],
  ]
  for (const [name, value] of members)
    if (value !== undefined) io.print(`${name.padEnd(12)}  ${printable(value)}`)
  if (error !== undefined) printSection(io, 'error', printableLines(error))
  printSection(
    io,
    'headers',
    headersOf(io, item).map(([name, value]) => printable(`${name}: ${value}`)),
  )
  printSection(io, 'body', bodyLines(delivery.rawBody))
}

function printSection(io: Io, title: string, lines: readonly string[]): void {
  io.print(title)
  for (const line of lines) io.print(`  ${line}`)
}

function bodyLines(body: Uint8Array): string[] {
  const text = startOfText(body)
  if (text === undefined) return ['(not text; "geohook inbox export" writes the exact bytes)']
  const more = body.length - MAX_PRINTED
  const rest = more > 0 ? [`(and ${count(more, 'byte')} more; "geohook inbox export" writes them)`] : []
  return [...printableLines(text), ...rest]
}
