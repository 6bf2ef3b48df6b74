import type { DurableInbox, InboxState } from '../../inbox/index.ts'
import { colours, count, print } from '../terminal/output.ts'
import type { Progress } from '../terminal/progress.ts'

/** A delivery that a command could not change. The state is undefined if it is not in the inbox. */
export interface RefusedDelivery {
  id: string
  state: InboxState | undefined
}

/** Operations in flight, each a round trip to the server. */
const CONCURRENCY = 8

/**
 * Applies an operation to each delivery.
 *
 * @param operation resolves to false for an unknown delivery, and for one in the wrong state
 * @param verb for the progress, for example `retrying`
 * @returns the deliveries for which it resolved to false, in the order of `ids`
 */
export async function applyToEach(
  inbox: DurableInbox,
  ids: readonly string[],
  operation: (id: string) => Promise<boolean>,
  { progress, verb }: { progress: Progress; verb: string },
): Promise<RefusedDelivery[]> {
  const refused = new Map<string, RefusedDelivery>()
  const pending = ids.values()
  let done = 0
  async function work(): Promise<void> {
    for (const id of pending) {
      if (!(await operation(id))) refused.set(id, { id, state: (await inbox.get(id))?.state })
      done++
      progress.update(`${verb}, ${done} of ${ids.length}`)
    }
  }
  // The workers share one iterator, so each id is used once.
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  return ids.flatMap((id) => refused.get(id) ?? [])
}

/**
 * Prints the result for each id, and a summary.
 *
 * @param verb the past participle, for example `retried`
 * @param existing ids of deliveries whose export already exists
 */
export function printEach(
  ids: readonly string[],
  refused: readonly RefusedDelivery[],
  verb: string,
  existing: ReadonlySet<string> = new Set(),
): void {
  const states = new Map(refused.map(({ id, state }) => [id, state]))
  for (const id of ids) {
    if (existing.has(id)) print(`already there ${id}`)
    else if (!states.has(id)) print(`${colours.green(verb)} ${id}`)
    else print(`${colours.red(`not ${verb}`)} ${id}: ${whyRefused(states.get(id))}`)
  }
  const rest = existing.size > 0 ? `, ${existing.size} already there` : ''
  const done = ids.length - refused.length - existing.size
  print(colours.dim(`${countDeliveries(done)} ${verb}${rest}, of ${ids.length}`))
}

/** Prints the number of dead letters that a command changed. */
export function printDeadLetters(number: number, verb: string): void {
  print(number === 0 ? 'there are no dead letters' : `${count(number, 'dead letter')} ${verb}`)
}

/** `1 delivery`, `2 deliveries`. */
export const countDeliveries = (number: number): string => count(number, 'delivery', 'deliveries')

function whyRefused(state: InboxState | undefined): string {
  if (state === undefined) return 'it is not in the inbox'
  return state === 'active' ? 'it is being handled now' : `it is ${state}`
}

/** Converts to JSON, with the state `null` for a delivery that is not in the inbox. */
export const toRefusedJson = (refused: readonly RefusedDelivery[]): object[] =>
  refused.map(({ id, state }) => ({ id, state: state ?? null }))
