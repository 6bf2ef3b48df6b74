/** Copies an object without its `undefined` members, so that spreading the copy does not overwrite defaults. */
export function withoutUndefined<T extends object>(members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T
}
