import type { Delivery } from '../../index.ts'
import { nearest } from '../../options.ts'
import { KNOWN_CHANGE_TYPES, subscriptionsOf, WILDCARD } from '../../payload/events.ts'

/**
 * Returns a function that selects deliveries with at least one of these change types. As in `receiver.on()`,
 * `FeaturesEdited` includes all edits, and `*` everything.
 *
 * @param names change types; undefined selects every delivery
 */
export function createSelection(names: readonly string[] | undefined): (delivery: Delivery) => boolean {
  if (!names) return () => true
  const selected = new Set(names)
  return ({ changeTypes }) =>
    selected.has(WILDCARD) ||
    changeTypes.some((changeType) => subscriptionsOf(changeType).some((name) => selected.has(name)))
}

const KNOWN: readonly string[] = [...KNOWN_CHANGE_TYPES, WILDCARD]

/** Returns a warning for each name that looks like a misspelt change type. Other unknown names may be a sender's own. */
export const warningsAbout = (names: readonly string[] = []): string[] =>
  names.flatMap((name) => {
    const meant = KNOWN.includes(name) ? undefined : nearest(name, KNOWN)
    return meant ? [`--events ${name} is not a known change type. Did you mean ${meant}?`] : []
  })
