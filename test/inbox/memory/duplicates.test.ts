import { createReceiver } from 'geohook'
import { createMemoryDuplicates } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { uniquePayload, until } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'

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
