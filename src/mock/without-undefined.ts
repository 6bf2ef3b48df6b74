/** Copies an object without its `undefined` members, so that spreading the copy does not overwrite defaults. */
export const withoutUndefined = <T extends object>(
  members: T,
): { [name in keyof T]: Exclude<T[name], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof withoutUndefined<T>
  >
