import { subscriptionsOf } from '../payload/events.ts'
import type { Announcement } from './engine-port.ts'

/** The change types that a worker handles under one name, as passed to `on`. Undefined if it handles everything. */
export type HandledTypes = ReadonlySet<string> | undefined

export const toHandled = (changeTypes: readonly string[] | undefined): HandledTypes =>
  changeTypes && new Set(changeTypes)

export const handlesType = (handled: HandledTypes, changeType: string): boolean =>
  handled === undefined || subscriptionsOf(changeType).some((name) => handled.has(name))

/** Returns true if a worker handles one of the change types or, without change types, events that have none. */
export const handlesAny = (handled: HandledTypes, changeTypes: readonly string[]): boolean =>
  (changeTypes.length > 0 ? changeTypes : ['']).some((type) => handlesType(handled, type))

/**
 * Returns true if `other` handles all of the change types that `own` handles, and at least one more of them. A worker
 * that does not say what it handles may decline a delivery, so it handles more only if `own` handles nothing.
 */
export function handlesMore(other: HandledTypes, own: HandledTypes, changeTypes: readonly string[]): boolean {
  if (other === undefined) return !handlesAny(own, changeTypes)
  return (
    changeTypes.every((type) => handlesType(other, type) || !handlesType(own, type)) &&
    changeTypes.some((type) => handlesType(other, type) && !handlesType(own, type))
  )
}

/** What a worker handles, by name. Handlers without a name have the empty one. */
export type HandledNames = ReadonlyMap<string, HandledTypes>

export const toHandledNames = ({
  changeTypes,
  names,
}: Pick<Announcement, 'changeTypes' | 'names'>): HandledNames =>
  new Map([
    ['', toHandled(changeTypes)],
    ...[...names].map(([name, types]): [string, HandledTypes] => [name, toHandled(types)]),
  ])

/** Returns what a worker handles under a name: nothing if it does not have the name. */
export const handledUnder = (handled: HandledNames, name: string): HandledTypes =>
  handled.has(name) ? handled.get(name) : NOTHING

const NOTHING: HandledTypes = new Set()

/** True unless a worker knows that it handles nothing. */
export const handlesSome = (handled: HandledTypes): boolean => handled?.size !== 0

/** The names of workers under which a delivery is handled. */
export interface Route {
  /** The names; sorted, without the empty one. */
  names: string[]
  /** True if the task without a name stays: for handlers without a name, or because nothing handles the delivery. */
  isUnnamed: boolean
}

/** Returns a function that routes deliveries to the workers. Undefined if none of them has names. */
export function createRouting(
  workers: readonly Announcement[],
): ((changeTypes: readonly string[]) => Route) | undefined {
  if (workers.every(({ names }) => names.size === 0)) return undefined
  const handled = workers.map(toHandledNames)
  return (changeTypes) => {
    const names = new Set<string>()
    for (const worker of handled)
      for (const [name, types] of worker) if (handlesAny(types, changeTypes)) names.add(name)
    const isUnnamed = names.delete('') || names.size === 0
    return { names: [...names].sort(), isUnnamed }
  }
}
