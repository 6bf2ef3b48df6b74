/** Changes to a map that are applied together, or dropped. */
export class Overlay<K, V> {
  readonly #base: Map<K, V>
  readonly #changes = new Map<K, V | undefined>()
  #size: number

  constructor(base: Map<K, V>) {
    this.#base = base
    this.#size = base.size
  }

  get size(): number {
    return this.#size
  }

  get(key: K): V | undefined {
    return this.#changes.has(key) ? this.#changes.get(key) : this.#base.get(key)
  }

  set(key: K, value: V): void {
    if (this.get(key) === undefined) this.#size += 1
    this.#changes.set(key, value)
  }

  delete(key: K): void {
    if (this.get(key) !== undefined) this.#size -= 1
    this.#changes.set(key, undefined)
  }

  /** Applies the changes. Keys that exist keep their place in the order of the map. */
  commit(): void {
    for (const [key, value] of this.#changes) {
      if (value === undefined) this.#base.delete(key)
      else this.#base.set(key, value)
    }
    this.#changes.clear()
  }
}
