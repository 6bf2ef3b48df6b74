import { InvalidArgumentError } from 'commander'
import type { DurableInbox, InboxState } from '../inbox/index.ts'
import { CliError, EXIT, usageError } from './exit.ts'
import { deliveries } from './inbox-entries.ts'
import { count, paint, print } from './output.ts'
import type { Progress } from './progress.ts'

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

/** The ids of all dead letters, read before any of them is changed: pages move when entries go. */
export async function idsOfDead(inbox: DurableInbox): Promise<string[]> {
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

/** Tells of each that was named, and how many there were. */
export function tellEach(ids: readonly string[], refused: readonly Refused[], verb: string): void {
  const states = new Map(refused.map(({ id, state }) => [id, state]))
  for (const id of ids) {
    if (!states.has(id)) print(`${paint.green(verb)} ${id}`)
    else print(`${paint.red(`not ${verb}`)} ${id}: ${whyNot(states.get(id))}`)
  }
  print(paint.dim(`${deliveries(ids.length - refused.length)} ${verb}, of ${ids.length}`))
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
