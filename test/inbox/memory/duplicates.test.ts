import { createReceiver } from 'geohook'
import { createMemoryDuplicates } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { createDuplicates } from '../../../src/inbox/duplicates.ts'
import { createMemoryDuplicatesTable } from '../../../src/inbox/memory/duplicates.ts'
import { uniquePayload, until } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import { idOf } from '../deliveries.ts'

describe('duplicates in memory', () => {
  const ids = Array.from({ length: 4 }, (_, index) => `${index}`.repeat(32)) as [
    string,
    string,
    string,
    string,
  ]

  it('forgets the oldest done delivery when it is full', async () => {
    const store = createMemoryDuplicates({ maxEntries: 2 })
    for (const id of ids.slice(0, 3)) {
      expect(await store.claim(id)).toBe('claimed')
      await store.done(id)
    }
    expect(await store.claim(ids[2])).toBe('done')
    expect(await store.claim(ids[1])).toBe('done')
    expect(await store.claim(ids[0])).toBe('claimed')
    await store.close()
  })

  it('keeps deliveries in progress when it is full, and rejects more with 503', async () => {
    const duplicates = createMemoryDuplicates({ maxEntries: 2 })
    const { gate, release } = createGate()
    let runs = 0
    const receiver = createReceiver({ signatureKey: KEY, duplicates, observer: { failed() {} } }).on(
      '*',
      () => {
        runs++
        return gate
      },
    )
    const inProgress = [deliver(receiver, uniquePayload()), deliver(receiver, uniquePayload())]
    await until(() => runs === 2)
    const third = await deliver(receiver, uniquePayload())
    expect([third.status, third.headers.get('retry-after'), third.body.code]).toEqual([
      503,
      '5',
      'inbox_unavailable',
    ])
    release()
    expect((await Promise.all(inProgress)).map(({ status }) => status)).toEqual([200, 200])
    expect((await deliver(receiver, uniquePayload())).status).toBe(200)
    await duplicates.close()
  })

  it('forgets a done delivery after its retention, by the given clock', async () => {
    let now = 0
    const store = createMemoryDuplicates({ clock: () => now, lease: 1_000, retention: 5_000 })
    await store.claim(ids[0])
    await store.done(ids[0])
    now = 4_999
    expect(await store.claim(ids[0])).toBe('done')
    now = 5_000
    expect(await store.claim(ids[0])).toBe('claimed')
    await store.close()
  })
})

describe('claims in memory', () => {
  const id = idOf('a')

  it('end with their lease, unless the owner renews them', async () => {
    let now = 0
    const table = createMemoryDuplicatesTable(10, () => now)
    expect(await table.claim(id, 'first', 1_000)).toBe('claimed')
    now = 999
    expect(await table.claim(id, 'second', 1_000)).toBe('busy')
    await table.renew([id, idOf('b')], 'first', 1_000)
    now = 1_998
    expect(await table.claim(id, 'second', 1_000)).toBe('busy')
    now = 1_999
    expect(await table.claim(id, 'second', 1_000)).toBe('claimed')
    now = 2_500
    await table.renew([id], 'first', 1_000) // has no effect, because another process owns the claim
    await table.release(id, 'first')
    now = 2_998
    expect(await table.claim(id, 'third', 1_000)).toBe('busy')
    now = 2_999
    expect(await table.claim(id, 'third', 1_000)).toBe('claimed')
  })

  it('stay with their process, even if they expired because the event loop was blocked', async () => {
    let now = 0
    const store = createMemoryDuplicates({ clock: () => now })
    expect(await store.claim(id)).toBe('claimed')
    now = 100_000 // no heartbeat has run
    expect(await store.claim(id)).toBe('busy')
    await store.close()
  })

  it('are closed with their table', async () => {
    let isClosed = false
    const close = async () => {
      isClosed = true
    }
    const table = { ...createMemoryDuplicatesTable(10, () => 0), close }
    await createDuplicates(table, {}).close()
    expect(isClosed).toBe(true)
  })

  it.each([
    ['maxEntries', 0],
    ['lease', 999],
    ['retention', 0],
  ])('need a valid %s', (name, value) => {
    expect(() => createMemoryDuplicates({ [name]: value })).toThrow(`${name} must be a whole number`)
  })
})
