import { InvalidArgumentError } from 'commander'
import type { DurableInbox } from '../../inbox/index.ts'
import { CliError, EXIT, usageError } from '../errors.ts'

/** Parses the id of a delivery. */
export function deliveryId(value: string): string {
  if (/^[\da-f]{32}$/.test(value)) return value
  throw new InvalidArgumentError('must be 32 hex digits, as "geohook inbox list" shows them')
}

/** Parses the id of a delivery, and adds it to the previous ids if it is new. */
export const deliveryIds = (value: string, previous: readonly string[] = []): string[] => [
  ...new Set([...previous, deliveryId(value)]),
]

const HINT = '"geohook inbox list" shows the deliveries.'

/** Checks that the user gave either ids or `--dead`. @throws {CliError} exit code 2 */
export function requireTargets(ids: readonly string[], dead: true | undefined): void {
  if (dead ? ids.length > 0 : ids.length === 0) throw usageError('give either ids or --dead', HINT)
}

export const deliveryNotFound = (id: string): CliError =>
  new CliError(EXIT.failure, 'not_found', `delivery ${id} not found in the inbox`, HINT)

const PAGE_SIZE = 1_000

/** Maximum number of passes over the list, because new dead letters may keep appearing. */
const MAX_PASSES = 10

/**
 * Yields the ids of all dead letters, each id once. Lists the dead letters repeatedly until a pass finds no new id,
 * because a single pass can miss some: pages shift while other processes change dead letters.
 */
export async function* deadLetters(inbox: DurableInbox): AsyncGenerator<string[], void, void> {
  const known = new Set<string>()
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const ids = (await listDeadLetters(inbox)).filter((id) => !known.has(id))
    if (ids.length === 0) return
    for (const id of ids) known.add(id)
    yield ids
  }
}

/** Reads all pages before it returns, because changing dead letters in between would shift the pages. */
async function listDeadLetters(inbox: DurableInbox): Promise<string[]> {
  const ids = new Set<string>()
  let after: string | undefined
  do {
    const { entries, next } = await inbox.list({ state: 'dead', limit: PAGE_SIZE, after })
    for (const { id } of entries) ids.add(id)
    after = next
  } while (after !== undefined)
  return [...ids]
}
