/** Computed values, each with a small number. Equal values have the same number. */
export interface Distinct<K, V> {
  get(key: K): readonly [value: V, id: number]
}

export function createDistinct<K, V>(
  compute: (key: K) => V,
  isEqual: (left: V, right: V) => boolean,
): Distinct<K, V> {
  const known = new Map<K, readonly [V, number]>()
  const values: V[] = []
  const add = (value: V): readonly [V, number] => {
    let id = values.findIndex((other) => isEqual(other, value))
    if (id < 0) id = values.push(value) - 1
    return [values[id] as V, id]
  }
  return {
    get(key) {
      const found = known.get(key) ?? add(compute(key))
      known.set(key, found)
      return found
    },
  }
}

/** Compares two lists of texts. */
export const isSameList = (left: readonly string[], right: readonly string[]): boolean =>
  left === right || (left.length === right.length && left.every((text, index) => text === right[index]))
