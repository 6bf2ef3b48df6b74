import { isUtf8 } from 'node:buffer'
import type { InboxItem } from '../../inbox/index.ts'
import { withoutSecrets } from '../captures/redact.ts'
import type { HeaderPairs } from '../io/http.ts'
import { count, print } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'
import { printableLines } from './entry-table.ts'

/** A body can be larger than anybody reads. */
const SHOWN = 16 * 1024

/** The headers of a delivery as in a capture: those that came twice are there twice, and keys are not. */
export function headersOf({ delivery }: InboxItem): HeaderPairs {
  const pairs = Object.entries(delivery.headers).flatMap(([name, value = []]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  )
  return withoutSecrets(pairs, [])
}

/** What is of no use to whoever looks, and opens something to whoever looks over the shoulder. */
const CREDENTIALS = /^(authorization|proxy-authorization|cookie)$/i

const shownHeaders = (item: InboxItem): HeaderPairs =>
  headersOf(item).map(([name, value]) => [name, CREDENTIALS.test(name) ? '***' : value])

/** The beginning of a body that is text; undefined for any other. */
function textOf(body: Uint8Array): string | undefined {
  if (!isUtf8(body)) return undefined
  // A character that was cut is left out.
  const text = new TextDecoder().decode(body.subarray(0, SHOWN), { stream: true })
  return text.includes('\0') ? undefined : text
}

/** Everything about one delivery, for scripts. The body is base64 of the exact bytes, as in a capture. */
export function toItemJson(item: InboxItem): object {
  const { delivery, ...entry } = item
  const { contentType, profile, keyIndex, rawBody } = delivery
  return {
    ...entry,
    contentType,
    profile,
    keyIndex,
    headers: shownHeaders(item),
    text: textOf(rawBody),
    body: Buffer.from(rawBody).toString('base64'),
  }
}

/** Everything about one delivery, for people. */
export function tellItem(item: InboxItem): void {
  const { id, state, attempts, changeTypes, receivedAt, dueAt, endedAt, error, size, delivery } = item
  const facts: [string, string | undefined][] = [
    ['id', id],
    ['state', state],
    ['attempts', String(attempts)],
    ['received', receivedAt.toISOString()],
    ['next', dueAt?.toISOString()],
    ['ended', endedAt?.toISOString()],
    ['change types', changeTypes.join(',')],
    ['profile', delivery.profile],
    ['key', delivery.keyIndex === undefined ? 'none: it was not signed' : `number ${delivery.keyIndex + 1}`],
    ['content type', delivery.contentType],
    ['size', count(size, 'byte')],
  ]
  for (const [name, value] of facts) if (value !== undefined) print(`${name.padEnd(12)}  ${printable(value)}`)
  if (error !== undefined) tellLines('error', printableLines(error))
  tellLines(
    'headers',
    shownHeaders(item).map(([name, value]) => printable(`${name}: ${value}`)),
  )
  tellLines('body', bodyLines(delivery.rawBody))
}

function tellLines(title: string, lines: readonly string[]): void {
  print(title)
  for (const line of lines) print(`  ${line}`)
}

function bodyLines(body: Uint8Array): string[] {
  const text = textOf(body)
  if (text === undefined) return ['(not text; "geohook inbox export" has the exact bytes)']
  const more = body.length - SHOWN
  const rest = more > 0 ? [`(and ${count(more, 'byte')} more; "geohook inbox export" has them)`] : []
  return [...printableLines(text), ...rest]
}
