import { InvalidArgumentError } from 'commander'
import type { DurableInbox, InboxState } from '../../inbox/index.ts'
import { CliError, EXIT, usageError } from '../errors.ts'
import { count, paint, print } from '../terminal/output.ts'
import type { Progress } from '../terminal/progress.ts'
import { deliveries } from './entry-table.ts'

/** One delivery, as `geohook inbox list` shows it. */
export function deliveryId(value: string): string {
  if (/^[\da-f]{32}$/.test(value)) return value
  throw new InvalidArgumentError('give 32 hex digits, as "geohook inbox list" shows them')
}

/** Several of them, each once. */
export const deliveryIds = (value: string, before: readonly string[] = []): string[] => [
  ...new Set([...before, deliveryId(value)]),
]

/** @throws {CliError} exit code 2 */
export function requireTargets(ids: readonly string[], dead: true | undefined): void {
  if (dead ? ids.length > 0 : ids.length === 0)
    throw usageError('give either ids or --dead', '"geohook inbox list" shows what is there.')
}

/** The error for a delivery that is not there. */
export const noDelivery = (id: string): CliError =>
  new CliError(
    EXIT.no,
    'not_found',
    `there is no delivery ${id} in the inbox`,
    '"geohook inbox list" shows what is there.',
  )

const PAGE = 1_000

/** Where letters die as fast as they are found. */
const PASSES = 10

/**
 * The ids of all dead letters, in passes: pages move while others change dead letters, so one may be missed, and others
 * may die meanwhile. So it looks again until it finds none that it has not given yet, ten times at most.
 */
export async function* deadLetters(inbox: DurableInbox): AsyncGenerator<string[], void, void> {
  const given = new Set<string>()
  for (let pass = 0; pass < PASSES; pass++) {
    const ids = (await idsOfDead(inbox)).filter((id) => !given.has(id))
    if (ids.length === 0) return
    for (const id of ids) given.add(id)
    yield ids
  }
}

/** Those of one pass, read before any of them is changed. */
async function idsOfDead(inbox: DurableInbox): Promise<string[]> {
  const ids = new Set<string>()
  let after: string | undefined
  do {
    const { entries, next } = await inbox.list({ state: 'dead', limit: PAGE, after })
    for (const { id } of entries) ids.add(id)
    after = next
  } while (after !== undefined)
  return [...ids]
}

/** A delivery with which something could not be done; without a state where it is not there. */
export interface Refused {
  id: string
  state: InboxState | undefined
}

/** At a time: each is a way to the server and back. */
const AT_ONCE = 8

/**
 * Does something with each delivery, and gives those with which it could not be done.
 *
 * @param act is false for one that is not there, or in no state for it
 */
export async function applyToEach(
  inbox: DurableInbox,
  ids: readonly string[],
  act: (id: string) => Promise<boolean>,
  { progress, verb }: { progress: Progress; verb: string },
): Promise<Refused[]> {
  const refused = new Map<string, Refused>()
  const queue = ids.values()
  let done = 0
  async function work(): Promise<void> {
    for (const id of queue) {
      if (!(await act(id))) refused.set(id, { id, state: (await inbox.get(id))?.state })
      done++
      progress.update(`${verb}, ${done} of ${ids.length}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return ids.flatMap((id) => refused.get(id) ?? [])
}

/**
 * Tells of each that was named, and how many there were.
 *
 * @param there with which there was nothing left to do
 */
export function tellEach(
  ids: readonly string[],
  refused: readonly Refused[],
  verb: string,
  there: ReadonlySet<string> = new Set(),
): void {
  const states = new Map(refused.map(({ id, state }) => [id, state]))
  for (const id of ids) {
    if (there.has(id)) print(`already there ${id}`)
    else if (!states.has(id)) print(`${paint.green(verb)} ${id}`)
    else print(`${paint.red(`not ${verb}`)} ${id}: ${whyNot(states.get(id))}`)
  }
  const rest = there.size > 0 ? `, ${there.size} already there` : ''
  const done = ids.length - refused.length - there.size
  print(paint.dim(`${deliveries(done)} ${verb}${rest}, of ${ids.length}`))
}

/** Tells how many dead letters there were. */
export function tellDead(number: number, verb: string): void {
  print(number === 0 ? 'there are no dead letters' : `${count(number, 'dead letter')} ${verb}`)
}

function whyNot(state: InboxState | undefined): string {
  if (state === undefined) return 'it is not in the inbox'
  return state === 'active' ? 'it is being handled now' : `it is ${state}`
}

/** As JSON: a state of null where it is not there. */
export const refusedJson = (refused: readonly Refused[]): object[] =>
  refused.map(({ id, state }) => ({ id, state: state ?? null }))
