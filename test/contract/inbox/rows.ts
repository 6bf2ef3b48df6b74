import type { NewRow, RowStore } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import type { RowsEngineKind } from './engine.ts'
import { testWith } from './fixture.ts'

const SERVICE = 'https://gis.example.com/server/rest/services/Parcels/FeatureServer'
const LAYER = { service: SERVICE, id: 0 }

const rowOf = (key: string, value: string | undefined = `value of ${key}`, objectId?: string): NewRow => ({
  key,
  objectId,
  value,
})

/** The contract of a row store. Every engine must pass it. */
export function describeRows(kind: RowsEngineKind): void {
  describe(`rows in ${kind.name}`, { concurrent: true, timeout: 40_000 }, () => {
    const it = testWith(kind)
    /** The values of rows by key. */
    const valuesOf = async (store: RowStore, keys: string[], layer = LAYER) =>
      Object.fromEntries((await store.read(layer, keys, [])).map(({ key, value }) => [key, value]))

    it('returns only known rows, by key and by object id, each once', async ({ open }) => {
      const store = open()
      await store.write(LAYER, [rowOf('a', '{"n":1}', '7'), rowOf('b'), rowOf('c', undefined, '8')], 5)
      expect(await store.read(LAYER, ['x'], ['9'])).toEqual([])
      expect(await store.read(LAYER, [], [])).toEqual([])
      expect(await store.read(LAYER, ['b', 'x'], [])).toEqual([
        { key: 'b', objectId: undefined, value: 'value of b', generation: 5 },
      ])
      const both = await store.read(LAYER, ['a', 'c'], ['7'])
      expect(both.sort((one, other) => one.key.localeCompare(other.key))).toEqual([
        { key: 'a', objectId: '7', value: '{"n":1}', generation: 5 },
        { key: 'c', objectId: '8', value: 'value of c', generation: 5 },
      ])
    })

    it('keeps the row of a deleted feature without a value', async ({ open }) => {
      const store = open()
      await store.write(LAYER, [rowOf('a', 'first', '7')], 5)
      await store.write(LAYER, [{ key: 'a', objectId: '7', value: undefined }], 6)
      expect(await store.read(LAYER, [], ['7'])).toEqual([
        { key: 'a', objectId: '7', value: undefined, generation: 6 },
      ])
    })

    it('returns every row with an object id, and none under an earlier object id', async ({ open }) => {
      const store = open()
      await store.write(LAYER, [rowOf('a', 'a', '7'), rowOf('b', 'b', '7'), rowOf('c', 'c', '7')], 5)
      await store.write(LAYER, [rowOf('a', 'a', '8'), rowOf('c', 'c')], 5)
      const keysOf = async (id: string) => (await store.read(LAYER, [], [id])).map(({ key }) => key)
      expect([await keysOf('7'), await keysOf('8')]).toEqual([['b'], ['a']])
    })

    it('separates services and layers', async ({ open }) => {
      const store = open()
      const layers = [LAYER, { service: SERVICE, id: -1 }, { service: `${SERVICE}2`, id: 0 }]
      for (const [index, layer] of layers.entries())
        await store.write(layer, [rowOf('a', String(index), '7')], index)
      for (const [index, layer] of layers.entries())
        expect(await store.read(layer, [], ['7'])).toMatchObject([
          { value: String(index), generation: index },
        ])
    })

    it('never replaces a row of a higher generation', async ({ open }) => {
      const store = open()
      await store.write(LAYER, [rowOf('a', 'new'), { key: 'b', objectId: undefined, value: undefined }], 8)
      await store.write(LAYER, [rowOf('a', 'old'), rowOf('b', 'old'), rowOf('c', 'old')], 7)
      expect(await valuesOf(store, ['a', 'b', 'c'])).toEqual({ a: 'new', b: undefined, c: 'old' })
      await store.write(LAYER, [rowOf('a', 'same')], 8)
      expect(await valuesOf(store, ['a'])).toEqual({ a: 'same' })
    })

    it('keeps any text and the largest generations exactly', async ({ open }) => {
      const store = open()
      const service = `${SERVICE}/${'x'.repeat(1_900)}`
      const texts = ['', '\u{1f600} caf\u00e9 \'"\\', 'x'.repeat(2_000_000)]
      const generations = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0]
      for (const [index, text] of texts.entries()) {
        const layer = { service, id: index }
        await store.write(layer, [rowOf('\u00e9'.repeat(200), text)], generations[index] ?? 0)
        expect(await store.read(layer, ['\u00e9'.repeat(200)], [])).toMatchObject([
          { value: text, generation: generations[index] },
        ])
      }
    })

    it('reads and writes 1,000 rows in one call', async ({ open }) => {
      const store = open()
      const rows = Array.from({ length: 1_000 }, (_, index) => rowOf(`key ${index}`, undefined, `${index}`))
      await store.write(LAYER, rows, 1)
      const ids = rows.map(({ objectId }) => objectId ?? '')
      expect(await store.read(LAYER, ids, ids)).toHaveLength(1_000)
      expect(
        await store.read(
          LAYER,
          rows.map(({ key }) => key),
          ids,
        ),
      ).toHaveLength(1_000)
    })

    it('removes the rows that were written the longest time ago', async ({ open }) => {
      const store = open({ maxRows: 3 })
      await store.write(LAYER, [rowOf('a')], 1)
      await store.write({ service: SERVICE, id: 1 }, [rowOf('a')], 1)
      await store.write(LAYER, [rowOf('b')], 1)
      await store.write(LAYER, [rowOf('a')], 1)
      await store.write(LAYER, [rowOf('c')], 1)
      expect(Object.keys(await valuesOf(store, ['a', 'b', 'c'])).sort()).toEqual(['a', 'b', 'c'])
      expect(await valuesOf(store, ['a'], { service: SERVICE, id: 1 })).toEqual({})
      await store.write(LAYER, [rowOf('d'), rowOf('e')], 1)
      expect(Object.keys(await valuesOf(store, ['a', 'b', 'c', 'd', 'e'])).sort()).toEqual(['c', 'd', 'e'])
      await store.write(
        LAYER,
        ['f', 'g', 'h', 'i', 'j'].map((key) => rowOf(key)),
        1,
      )
      expect(await store.read(LAYER, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'], [])).toHaveLength(3)
    })

    it('forgets a service, also one with many rows, and counts no forgotten rows', async ({ open }) => {
      const store = open({ maxRows: 5_000 })
      const other = { service: `${SERVICE}2`, id: 0 }
      await store.write(other, [rowOf('kept')], 9)
      for (let batch = 0; batch < 5; batch++)
        await store.write(
          { service: SERVICE, id: batch % 2 },
          Array.from({ length: 999 }, (_, index) => rowOf(`${batch} ${index}`)),
          9,
        )
      await store.forget(SERVICE)
      await store.forget('https://unknown.example.com/FeatureServer')
      expect(await store.read(LAYER, ['0 0', '2 0', '4 998'], [])).toEqual([])
      expect(await store.read({ service: SERVICE, id: 1 }, ['1 0'], [])).toEqual([])
      for (let batch = 0; batch < 4; batch++)
        await store.write(
          LAYER,
          Array.from({ length: 1_000 }, (_, index) => rowOf(`${batch} ${index}`)),
          1,
        )
      expect(await valuesOf(store, ['kept'], other)).toEqual({ kept: 'value of kept' })
    })

    it('ends at the highest generation of concurrent writes', async ({ open }) => {
      const shared = kind.isShared ? [open(), open(), open()] : [open()]
      const keys = Array.from({ length: 40 }, (_, index) => `key ${index}`)
      await Promise.all(
        Array.from({ length: 30 }, async (_, number) => {
          // Each write has another order and other rows, and a third of them has the last generation of its keys.
          const some = keys.filter((_, index) => (index + number) % 3 !== 0)
          const rows = some.map((key) => rowOf(key, String(number)))
          await shared[number % shared.length]?.write(LAYER, number % 2 ? rows : rows.reverse(), number)
        }),
      )
      const expected = keys.map((key, index) => [key, index % 3 === 1 ? '28' : '29'])
      for (const store of shared) expect(await valuesOf(store, keys)).toEqual(Object.fromEntries(expected))
    })

    it('rejects calls after it is closed', async ({ open }) => {
      const store = open()
      await store.write(LAYER, [rowOf('a')], 1)
      await store.close()
      await expect(store.read(LAYER, ['a'], [])).rejects.toThrow('closed')
      await expect(store.write(LAYER, [rowOf('a')], 1)).rejects.toThrow('closed')
      await expect(store.forget(SERVICE)).rejects.toThrow('closed')
    })

    if (kind.isShared)
      it('keeps rows after it is closed, and shares them', async ({ open }) => {
        const [first, second] = [open(), open()]
        await first.write(LAYER, [rowOf('a')], 1)
        expect(await valuesOf(second, ['a'])).toEqual({ a: 'value of a' })
        await Promise.all([first.close(), second.close()])
        expect(await valuesOf(open(), ['a'])).toEqual({ a: 'value of a' })
      })
  })
}
