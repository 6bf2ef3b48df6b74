import type { LayerChanges } from 'geohook/changes'
import { createMemoryRows } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { changesOf, ID, invalid, rowOf, SERVICE, start } from './support.ts'

describe('compare()', () => {
  it('names the attributes that differ, and says whether the feature moved', async () => {
    const { handle } = start()
    const before = rowOf({ name: 'oak', height: 3, note: null, gone: 'x' }, { x: 1, y: 2 })
    const after = rowOf({ name: 'ash', height: 3, added: 0 }, { y: 2, x: 1 })
    expect(await handle({ adds: [before] })).toEqual([{ id: ID.toLowerCase(), kind: 'add', after: before }])
    expect(await handle({ updates: [after] })).toEqual([
      {
        id: ID.toLowerCase(),
        kind: 'update',
        before,
        after,
        changed: ['name', 'gone', 'added'],
        moved: false,
      },
    ])
    expect(await handle({ updates: [rowOf(after.attributes, { x: 2, y: 2 })] })).toMatchObject([
      { changed: [], moved: true },
    ])
    expect(await handle({ updates: [rowOf(after.attributes)] })).toMatchObject([{ changed: [], moved: true }])
    expect(await handle({ updates: [rowOf(after.attributes)] })).toMatchObject([
      { changed: [], moved: false },
    ])
  })

  it('finds that a list got longer, also by a null', async () => {
    const { handle } = start()
    const attributes = { name: 'oak' }
    await handle({ adds: [rowOf(attributes, { paths: [[1]] })] })
    for (const paths of [[[1, null]], [[1, null], null], [[1]]])
      expect(await handle({ updates: [rowOf(attributes, { paths })] })).toMatchObject([{ moved: true }])
  })

  it('compares attributes called like members of every object', async () => {
    const { handle } = start()
    const before = JSON.parse(`{"OBJECTID":1,"constructor":"a","__proto__":"a"}`)
    const after = JSON.parse(`{"OBJECTID":1,"constructor":"b","toString":null}`)
    await handle({ adds: [{ attributes: before }] })
    expect(await handle({ updates: [{ attributes: after }] })).toMatchObject([
      { id: '1', changed: ['constructor', '__proto__'] },
    ])
  })

  it('finds a row by its global id in any spelling, and under any case of the attribute', async () => {
    const { handle } = start()
    await handle({ adds: [{ attributes: { objectid: 7, globalid: ID.toLowerCase(), name: 'oak' } }] })
    const [feature] =
      (await handle({ updates: [{ attributes: { objectid: 7, globalid: `{${ID}}`, name: 'oak' } }] })) ?? []
    expect(feature).toMatchObject({ id: ID.toLowerCase(), changed: [] })
  })

  it('names the global id only if it is another one', async () => {
    const { handle } = start({ idField: 'name' })
    const row = (GlobalID: unknown) => ({ attributes: { name: 'oak', GlobalID } })
    await handle({ adds: [row(`{${ID}}`)] })
    expect(await handle({ updates: [row(ID.toLowerCase())] })).toMatchObject([{ changed: [] }])
    for (const other of [SERVICE, null, undefined])
      expect(await handle({ updates: [row(other)] })).toMatchObject([
        { changed: other === undefined ? [] : ['GlobalID'] },
      ])
  })

  it.each([
    ['its global id', `{${ID}}`],
    ['its object id', '7'],
  ])('finds a deleted feature by %s', async (_, id) => {
    const { handle } = start()
    const before = rowOf({ name: 'oak' })
    await handle({ adds: [before] })
    expect(await handle({ deletes: { ids: [id] } })).toEqual([
      { id: ID.toLowerCase(), kind: 'delete', before },
    ])
    expect(await handle({ deletes: { ids: [id] } })).toEqual([{ id: ID.toLowerCase(), kind: 'delete' }])
    expect(await handle({ adds: [before] })).toEqual([{ id: ID.toLowerCase(), kind: 'add', after: before }])
  })

  it('reports a feature that was added and deleted as deleted, with the state that the service sent', async () => {
    const { handle } = start()
    const last = rowOf({ name: 'oak' })
    const deletes = { ids: ['7'], features: [last] }
    expect(await handle({ adds: [last], deletes })).toEqual([
      { id: ID.toLowerCase(), kind: 'delete', before: last },
    ])
  })

  it.each<[string, Partial<LayerChanges>['deletes'] & object]>([
    ['its old object id', { ids: ['7'] }],
    ['its global id', { ids: [ID] }],
    ['its global id, with its last row', { ids: [`{${ID}}`], features: [rowOf({ name: 'oak' })] }],
    ['both', { ids: ['7', ID.toLowerCase()] }],
  ])('reports a feature that was deleted and added again as added: deleted by %s', async (_, deletes) => {
    const { handle } = start()
    const before = rowOf({ name: 'oak' })
    const after = rowOf({ name: 'oak', OBJECTID: 9 })
    await handle({ adds: [before] })
    const changed = ['OBJECTID']
    expect(await handle({ adds: [after], deletes })).toEqual([
      { id: ID.toLowerCase(), kind: 'add', before, after, changed, moved: false },
    ])
    const last = rowOf({ name: 'ash', OBJECTID: 9 })
    expect(await handle({ updates: [last] })).toMatchObject([{ before: after, changed: ['name'] }])
    expect(await handle({ adds: [last], deletes: { ids: ['9', '7'] } })).toContainEqual({
      id: ID.toLowerCase(),
      kind: 'delete',
      before: last,
    })
  })

  it('reports the feature that had the object id before as deleted, and not the one that has it now', async () => {
    const other = 'AAAAAAAA-0D5F-4C2B-9A5B-0123456789AB'
    const [oak, ash] = [rowOf({ name: 'oak' }), rowOf({ name: 'ash', GlobalID: other })]
    const changed = [
      { id: other.toLowerCase(), kind: 'add', after: ash },
      { id: ID.toLowerCase(), kind: 'delete', before: oak },
    ]
    const known = start()
    await known.handle({ adds: [oak] })
    expect(await known.handle({ adds: [ash], deletes: { ids: ['7'] } })).toEqual(changed)
    const deletes = { ids: ['7'], features: [oak] }
    expect(await start().handle({ adds: [ash], deletes })).toEqual(changed)

    // The deletion of a feature that is not known does not hide a later one.
    const { handle } = start()
    await handle({ deletes: { ids: ['7'] } })
    await handle({ adds: [oak] })
    expect(await handle({ deletes: { ids: ['7'] } })).toEqual([changed[1]])
  })

  it('does not take the object id of another deleted feature for that of a feature that was added again', async () => {
    const { handle } = start()
    const other = 'AAAAAAAA-0D5F-4C2B-9A5B-0123456789AB'
    const [oak, ash] = [rowOf({ name: 'oak' }), rowOf({ GlobalID: other, OBJECTID: 9 })]
    await handle({ adds: [oak, ash] })
    const after = rowOf({ name: 'oak', OBJECTID: 9 })
    expect(await handle({ adds: [after], deletes: { ids: [ID, other], features: [oak, ash] } })).toEqual([
      { id: ID.toLowerCase(), kind: 'add', before: oak, after, changed: ['OBJECTID'], moved: false },
      { id: other.toLowerCase(), kind: 'delete', before: ash },
    ])
  })

  it('reports a feature that was deleted and added again with the same idField as added', async () => {
    const { handle } = start({ idField: 'code' })
    const other = 'AAAAAAAA-0D5F-4C2B-9A5B-0123456789AB'
    const before = rowOf({ code: 'x1' })
    const after = rowOf({ code: 'x1', OBJECTID: 9, GlobalID: other })
    await handle({ adds: [before] })
    for (const deletes of [{ ids: ['7'] }, { ids: [ID], features: [before] }])
      expect(await handle({ adds: [after], deletes })).toContainEqual(
        expect.objectContaining({ id: 'x1', kind: 'add', after }),
      )
  })

  it('reports a feature that was added and updated once', async () => {
    const { handle } = start()
    const row = rowOf({ name: 'oak' })
    expect(await handle({ adds: [row], updates: [row] })).toEqual([
      { id: ID.toLowerCase(), kind: 'add', after: row },
    ])
  })

  it('leaves out features that a later extraction has handled', async () => {
    const { handle } = start()
    await handle({ updates: [rowOf({ name: 'new' })] }, 9)
    expect(await handle({ updates: [rowOf({ name: 'old' })] }, 8)).toEqual([])
    expect(await handle({ deletes: { ids: [ID] } }, 8)).toEqual([])
    expect(await handle({ updates: [rowOf({ name: 'newer' })] }, 9)).toMatchObject([{ changed: ['name'] }])
  })

  it('compares with the features of earlier comparisons of the attempt', async () => {
    const { handle, handleAll } = start()
    const named = (name: string) => ({ updates: [rowOf({ name })] })
    // A service sends the current row with every window that contains a change of it.
    expect(await handleAll(changesOf(named('oak'), 5), changesOf(named('ash'), 5))).toMatchObject([
      [{ after: rowOf({ name: 'oak' }) }],
      [{ before: rowOf({ name: 'oak' }), after: rowOf({ name: 'ash' }), changed: ['name'] }],
    ])
    expect(await handle(named('elm'), 6)).toMatchObject([{ before: rowOf({ name: 'ash' }) }])
    expect(await handleAll(changesOf(named('fir'), 9), changesOf(named('yew'), 8))).toMatchObject([
      [{ before: rowOf({ name: 'elm' }) }],
      [],
    ])
    expect(await handle(named('box'), 9)).toMatchObject([{ before: rowOf({ name: 'fir' }) }])
  })

  it('finds a deleted feature that an earlier comparison of the attempt added', async () => {
    const { handle, handleAll } = start()
    const row = rowOf({ name: 'oak' })
    expect(await handleAll(changesOf({ adds: [row] }), changesOf({ deletes: { ids: ['7'] } }))).toEqual([
      [{ id: ID.toLowerCase(), kind: 'add', after: row }],
      [{ id: ID.toLowerCase(), kind: 'delete', before: row }],
    ])
    expect(await handle({ adds: [row] })).toEqual([{ id: ID.toLowerCase(), kind: 'add', after: row }])
  })

  it('compares again after a failed comparison', async () => {
    const { handleAll, handle } = start()
    const bad = changesOf({ adds: [{ attributes: { name: 'oak' } }] })
    const good = changesOf({ adds: [rowOf({})] })
    await expect(handleAll(bad, good)).rejects.toMatchObject({ code: 'changes_malformed' })
    expect(await handle({ adds: [rowOf({})] })).toMatchObject([{ kind: 'add' }])
  })

  it('compares features of changes without generations', async () => {
    const { snapshots, handle, handleAll } = start()
    await snapshots.fill(SERVICE, 0, [rowOf({ name: 'oak' })], 100)
    const unknown = { ...changesOf({ updates: [rowOf({ name: 'ash' })] }), layerServerGens: [] }
    expect(await handleAll(unknown)).toMatchObject([[{ changed: ['name'] }]])
    expect(await handle({ updates: [rowOf({ name: 'elm' })] }, 100)).toMatchObject([
      { before: rowOf({ name: 'ash' }) },
    ])
  })

  it('uses the attribute of the option idField', async () => {
    const { handle } = start({ idField: 'Parcel' })
    await handle({ adds: [rowOf({ PARCEL: 'A 1', name: 'oak' })] })
    expect(await handle({ updates: [rowOf({ PARCEL: 'A 1', name: 'ash' })] })).toMatchObject([
      { id: 'a 1', changed: ['name'] },
    ])
    expect(await handle({ deletes: { ids: ['7'] } })).toMatchObject([{ id: 'a 1', kind: 'delete' }])
    await expect(handle({ adds: [rowOf({})] })).rejects.toMatchObject({ code: 'changes_malformed' })
  })

  it('finds a deleted feature by the row that the service sent', async () => {
    const row = rowOf({ name: 'oak' })
    const { handle } = start()
    const deletes = { ids: ['7'], features: [row] }
    expect(await handle({ deletes }, 10)).toEqual([{ id: ID.toLowerCase(), kind: 'delete', before: row }])
    expect(await handle({ updates: [row] }, 9)).toEqual([])

    const byCode = start({ idField: 'code' })
    const coded = rowOf({ code: 'x1' })
    await byCode.handle({ adds: [coded] })
    expect(await byCode.handle({ deletes: { ids: [`{${ID}}`], features: [coded] } })).toEqual([
      { id: 'x1', kind: 'delete', before: coded },
    ])
  })

  it('takes a number for an object id, and not for the value of the option idField', async () => {
    const { snapshots, handle } = start({ idField: 'parcel' })
    const [seven, other] = [rowOf({ OBJECTID: 7, parcel: 42 }), rowOf({ OBJECTID: 99, parcel: 7 })]
    await snapshots.fill(SERVICE, 0, [seven, other])
    expect(await handle({ deletes: { ids: ['7'] } })).toEqual([{ id: '42', kind: 'delete', before: seven }])
    expect(await handle({ deletes: { ids: ['7'] } })).toEqual([{ id: '42', kind: 'delete' }])
    await snapshots.forget(SERVICE)
    await snapshots.fill(SERVICE, 0, [other])
    expect(await handle({ deletes: { ids: ['7'] } })).toEqual([{ id: '7', kind: 'delete' }])
    expect(await handle({ updates: [other] })).toMatchObject([{ id: '7', before: other, changed: [] }])
  })

  it('rejects the URL of a layer, and a URL with a query', async () => {
    const { snapshots } = start()
    for (const url of [`${SERVICE}/0`, `${SERVICE}?token=x`, `${SERVICE}#x`]) {
      await expect(snapshots.fill(url, 0, [])).rejects.toEqual(invalid('without a layer and a query'))
      await expect(snapshots.forget(url)).rejects.toEqual(invalid('without a layer and a query'))
    }
  })

  it('stops at an abort, also if the store never answers', async () => {
    const { snapshots } = start({ store: { ...createMemoryRows(), read: () => new Promise(() => {}) } })
    const controller = new AbortController()
    const comparing = snapshots.compare(changesOf({ adds: [rowOf({})] }), {
      signal: controller.signal,
      onSuccess() {},
    })
    controller.abort(new Error('stop'))
    await expect(comparing).rejects.toThrow('stop')
  })

  it('rejects features without an id, and ids that no store can keep', async () => {
    const { handle } = start()
    const refusal = { code: 'changes_malformed', hint: expect.stringContaining('idField') }
    await expect(handle({ adds: [{ attributes: { name: 'oak' } }] })).rejects.toMatchObject(refusal)
    for (const id of ['\0', '\ud800', 'x'.repeat(201)])
      await expect(handle({ deletes: { ids: [id] } })).rejects.toMatchObject(refusal)
  })

  it('rejects changes with only object ids, and a context without onSuccess', async () => {
    const { snapshots, handle } = start()
    await expect(handle({ objectIds: { adds: [1], updates: [] } })).rejects.toEqual(
      invalid('only object ids'),
    )
    const { signal } = new AbortController()
    await expect(snapshots.compare(changesOf({}), { signal } as never)).rejects.toEqual(invalid('onSuccess'))
    await expect(snapshots.compare([] as never, { onSuccess() {} })).rejects.toEqual(invalid('changes.of'))
  })

  it('rejects with the reason of an aborted signal', async () => {
    const { snapshots } = start()
    const signal = AbortSignal.abort(new Error('stop'))
    const comparing = snapshots.compare(changesOf({ adds: [rowOf({})] }), { signal, onSuccess() {} })
    await expect(comparing).rejects.toThrow('stop')
  })
})
