/** Makes something of an object once: for those that never change, such as webhooks, of which an edit makes another. */
export function perObject<K extends object, T>(make: (object: K) => T): (object: K) => T {
  const known = new WeakMap<K, T>()
  return (object) => {
    const before = known.get(object)
    if (before !== undefined) return before
    const made = make(object)
    known.set(object, made)
    return made
  }
}
