/** A copy without the members that are `undefined`, so that spreading it keeps defaults. */
export function withoutUndefined<T extends object>(members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T
}
