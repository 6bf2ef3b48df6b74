import { InvalidArgumentError } from 'commander'
import type { DurableInbox, InboxState } from '../../inbox/index.ts'
import { count } from '../../shared/words.ts'
import { type CliError, failure, usageError } from '../errors.ts'
import type { CliCommand } from '../options/command.ts'
import type { Io } from '../terminal/io.ts'
import type { StoreOptions } from './store.ts'

/** A delivery that a command could not process. `state` is undefined if the delivery is not in the inbox. */
export interface RefusedDelivery {
  id: string
  state: InboxState | undefined
}

/**
 * Prints the result for each delivery, and a summary.
 *
 * @param verb the past participle, for example `retried`
 * @param existing ids of deliveries that an earlier export has already written
 */
export function printEach(
  io: Io,
  ids: readonly string[],
  refused: readonly RefusedDelivery[],
  verb: string,
  existing: ReadonlySet<string> = new Set(),
): void {
  const states = new Map(refused.map(({ id, state }) => [id, state]))
  for (const id of ids) {
    if (existing.has(id)) io.print(`already there ${id}`)
    else if (!states.has(id)) io.print(`${io.colours.green(verb)} ${id}`)
    else io.print(`${io.colours.red(`not ${verb}`)} ${id}: ${whyRefused(states.get(id))}`)
  }
  const rest = existing.size > 0 ? `, ${existing.size} already there` : ''
  const done = ids.length - refused.length - existing.size
  io.print(io.colours.dim(`${count(done, 'delivery', 'deliveries')} ${verb}${rest}, of ${ids.length}`))
}

/** Says how many dead letters a command has processed. */
export const toDeadLetterText = (number: number, verb: string): string =>
  number === 0 ? 'there are no dead letters' : `${count(number, 'dead letter')} ${verb}`

function whyRefused(state: InboxState | undefined): string {
  if (state === undefined) return 'it is not in the inbox'
  return state === 'active' ? 'it is being handled now' : `it is ${state}`
}

/** Converts refused deliveries to JSON. `state` is `null` if the delivery is not in the inbox. */
export const toRefusedJson = (refused: readonly RefusedDelivery[]): object[] =>
  refused.map(({ id, state }) => ({ id, state: state ?? null }))

/** Parses the id of a delivery. */
export function deliveryId(value: string): string {
  if (/^[\da-f]{32}$/.test(value)) return value
  throw new InvalidArgumentError('must be 32 hex digits, as "geohook inbox list" shows them')
}

/** Values of `--dead` and of the options that select an inbox. */
export interface TargetOptions extends StoreOptions {
  dead?: true
}

/** Adds the argument for the ids of deliveries, and `--dead`. */
export const addTargets = (command: CliCommand, deadDescription: string): unknown =>
  command
    .argument('[ids...]', 'ids of the deliveries', (value: string, previous: readonly string[] = []) => [
      ...new Set([...previous, deliveryId(value)]),
    ])
    .option('--dead', deadDescription)

const HINT = '"geohook inbox list" shows the deliveries.'

/** Checks that the user gave either ids or `--dead`. */
export function requireTargets(ids: readonly string[], { dead }: TargetOptions): void {
  if (dead ? ids.length > 0 : ids.length === 0) throw usageError('give either ids or --dead', HINT)
}

export const deliveryNotFound = (id: string): CliError =>
  failure('not_found', `delivery ${id} not found in the inbox`, HINT)

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
