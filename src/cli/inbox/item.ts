import { isUtf8 } from 'node:buffer'
import type { InboxItem } from '../../inbox/index.ts'
import { createRedactor } from '../../shared/redact.ts'
import type { HeaderPairs } from '../io/http.ts'
import { count, type Io } from '../terminal/io.ts'
import { printable, printableLines } from '../terminal/printable.ts'

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
export function toItemJson(io: Io, item: InboxItem): object {
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

export function printItem(io: Io, item: InboxItem): void {
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
