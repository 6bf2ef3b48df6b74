import type { KnownRow, RowLayer, RowStore } from '../rows.ts'

/** A layer's rows by key, and its keys by object id. */
interface Layer {
  rows: Map<string, KnownRow>
  keys: Map<string, Set<string>>
}

export function createRowsInMemory(maxRows: number): RowStore {
  const services = new Map<string, Map<number, Layer>>()
  /** All rows and their layers, in the order in which they were written. */
  const written = new Map<KnownRow, Layer>()
  let closed = false

  function requireOpen(): void {
    if (closed) throw new Error('the store of rows is closed')
  }

  function layerOf({ service, id }: RowLayer): Layer {
    requireOpen()
    const layers = services.get(service) ?? new Map<number, Layer>()
    services.set(service, layers)
    const layer = layers.get(id) ?? { rows: new Map(), keys: new Map() }
    layers.set(id, layer)
    return layer
  }

  function remove(row: KnownRow, { rows, keys }: Layer): void {
    written.delete(row)
    rows.delete(row.key)
    if (row.objectId === undefined) return
    const others = keys.get(row.objectId)
    others?.delete(row.key)
    if (others?.size === 0) keys.delete(row.objectId)
  }

  function add(row: KnownRow, layer: Layer): void {
    written.set(row, layer)
    layer.rows.set(row.key, row)
    if (row.objectId === undefined) return
    const others = layer.keys.get(row.objectId) ?? new Set()
    layer.keys.set(row.objectId, others.add(row.key))
  }

  return {
    async read(layer, keys, objectIds) {
      const { rows, keys: byObjectId } = layerOf(layer)
      const found = new Set([...keys, ...objectIds.flatMap((id) => [...(byObjectId.get(id) ?? [])])])
      return [...found].flatMap((key) => rows.get(key) ?? [])
    },
    async write(target, rows, generation) {
      const layer = layerOf(target)
      for (const row of rows) {
        const known = layer.rows.get(row.key)
        if (known && known.generation > generation) continue
        if (known) remove(known, layer)
        add({ ...row, generation }, layer)
      }
      for (const [row, owner] of written) {
        if (written.size <= maxRows) return
        remove(row, owner)
      }
    },
    async forget(service) {
      requireOpen()
      for (const layer of services.get(service)?.values() ?? [])
        for (const row of layer.rows.values()) written.delete(row)
      services.delete(service)
    },
    async close() {
      closed = true
    },
  }
}
