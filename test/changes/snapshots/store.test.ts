import { createSnapshots } from 'geohook/changes'
import { createMemoryRows, type RowStore } from 'geohook/inbox'
import { describe, expect, it, onTestFinished } from 'vitest'
import { changesOf, invalid, rowOf, SERVICE, start } from './support.ts'

describe('compare()', () => {
  it('reports a failure of the store with a code, and reads again in the next call', async () => {
    const store = createMemoryRows()
    let failures = 1
    const failing: RowStore = {
      ...store,
      async read(...given) {
        if (failures-- > 0) throw new Error('connection lost')
        return store.read(...given)
      },
    }
    const { snapshots } = start({ store: failing })
    const changes = changesOf({ adds: [rowOf({})] })
    const context = { signal: new AbortController().signal, onSuccess() {} }
    await expect(snapshots.compare(changes, context)).rejects.toMatchObject({
      code: 'changes_unavailable',
      message: 'the store of the snapshots failed: connection lost',
    })
    expect(await snapshots.compare(changes, context)).toMatchObject([{ features: [{ kind: 'add' }] }])
  })

  it('reads and writes 5,000 features in 10 calls', async () => {
    const store = createMemoryRows()
    let calls = 0
    const counting: RowStore = {
      ...store,
      read(...given) {
        calls++
        return store.read(...given)
      },
      write(...given) {
        calls++
        return store.write(...given)
      },
    }
    const { handle } = start({ store: counting })
    const adds = Array.from({ length: 5_000 }, (_, OBJECTID) => ({ attributes: { OBJECTID, name: 'oak' } }))
    expect(await handle({ adds })).toHaveLength(5_000)
    expect(calls).toBe(10)
    const ids = adds.map(({ attributes }) => String(attributes.OBJECTID))
    const deleted = (await handle({ deletes: { ids } })) ?? []
    expect(deleted.every(({ before }) => before?.attributes.name === 'oak')).toBe(true)
  })

  it('lets timers run while it compares many features', async () => {
    const { handle } = start()
    const adds = Array.from({ length: 5_000 }, (_, OBJECTID) => ({ attributes: { OBJECTID } }))
    let ticks = 0
    const timer = setInterval(() => ticks++, 1)
    onTestFinished(() => clearInterval(timer))
    await handle({ adds })
    expect(ticks).toBeGreaterThanOrEqual(5)
  })

  it('writes large rows in several calls', async () => {
    const store = createMemoryRows()
    const sizes: number[] = []
    const counting: RowStore = {
      ...store,
      write(layer, rows, generation) {
        sizes.push(rows.length)
        return store.write(layer, rows, generation)
      },
    }
    const { handle } = start({ store: counting })
    const text = 'x'.repeat(400_000)
    await handle({ adds: [1, 2, 3, 4, 5].map((OBJECTID) => ({ attributes: { OBJECTID, text } })) })
    expect(sizes).toEqual([2, 2, 1])
  })
})

describe('fill()', () => {
  it('makes the first change of a copied feature comparable', async () => {
    const { snapshots, handle } = start()
    await snapshots.fill(`${SERVICE}/`, 0, [rowOf({ name: 'first' }), rowOf({ name: 'oak' })])
    expect(await handle({ updates: [rowOf({ name: 'ash' })] })).toMatchObject([
      { before: rowOf({ name: 'oak' }), changed: ['name'] },
    ])
  })

  it('keeps rows of later extractions, unless they are forgotten', async () => {
    const { snapshots, handle } = start()
    await handle({ updates: [rowOf({ name: 'ash' })] }, 5)
    await snapshots.fill(SERVICE, 0, [rowOf({ name: 'oak' })], 4)
    expect(await handle({ updates: [rowOf({ name: 'ash' })] }, 5)).toMatchObject([{ changed: [] }])
    await snapshots.forget(`${SERVICE}/`)
    await snapshots.fill(SERVICE, 0, [rowOf({ name: 'oak' })], 4)
    expect(await handle({ updates: [rowOf({ name: 'ash' })] }, 5)).toMatchObject([{ changed: ['name'] }])
  })

  it('rejects invalid arguments', async () => {
    const { snapshots } = start()
    await expect(snapshots.fill('Parcels', 0, [])).rejects.toEqual(invalid('URL'))
    await expect(snapshots.fill(SERVICE, '0' as never, [])).rejects.toEqual(invalid('integers'))
    await expect(snapshots.fill(SERVICE, 0, {} as never)).rejects.toEqual(invalid('array'))
    await expect(snapshots.forget('Parcels')).rejects.toEqual(invalid('URL'))
    expect(() => createSnapshots({} as never)).toThrow(invalid('store'))
    expect(() => createSnapshots({ store: createMemoryRows(), idField: '' })).toThrow(invalid('idField'))
  })
})

it.each([0, 1.5, -1])('createMemoryRows() rejects maxRows %d', (maxRows) => {
  expect(() => createMemoryRows({ maxRows })).toThrow(invalid('maxRows'))
})
