/** Returns the names of the members that differ. A missing member is equal to null. */
export function differences(before: object, after: object): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => !isEqual(memberOf(before, name), memberOf(after, name)))
}

/** Reads only own members: an attribute may be called `constructor`. */
const memberOf = (object: object, name: string): unknown =>
  Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : null

/** Compares two values from JSON. The order of the members of objects does not matter. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if ((one ?? null) === null && (other ?? null) === null) return true
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false
  if (Array.isArray(one) || Array.isArray(other))
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((value, index) => isEqual(value, other[index]))
    )
  return differences(one, other).length === 0
}
