// @module-tag sqlite
import { createReceiver } from 'geohook'
import { createSqliteDuplicates, createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { uniquePayload, until } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import { lock, openDatabase } from '../../helpers/sqlite.ts'
import { deliveryOf } from '../deliveries.ts'
import { useFolder } from './fixture.ts'

const fixture = useFolder()
const { keep } = fixture

describe('a locked SQLite file', () => {
  it('delays recording the end of an attempt, but causes no other attempt', async () => {
    const troubles: unknown[] = []
    const inbox = keep(
      createSqliteInbox({
        path: fixture.path,
        observer: { trouble: ({ error }) => troubles.push(error) },
      }),
    )
    const delivery = deliveryOf()
    await inbox.put(delivery)
    const { gate, release } = createGate()
    let runs = 0
    const handle = async () => {
      runs++
      await gate
    }
    inbox.work({ handle }, { concurrency: 1 })
    await until(() => runs === 1)
    const locker = await lock(fixture.path)
    try {
      release()
      await until(() => troubles.length > 1)
      expect((await inbox.get(delivery.id))?.state).toBe('active')
    } finally {
      await locker.stop('SIGKILL')
    }
    await until(async () => (await inbox.get(delivery.id))?.state === 'done')
    expect((await inbox.get(delivery.id))?.attempts).toBe(1)
    expect(runs).toBe(1)
  })

  it('delays recording a done delivery, but its retry is still a duplicate', async () => {
    const duplicates = keep(createSqliteDuplicates({ path: fixture.path, lease: 6_000 }))
    const other = keep(createSqliteDuplicates({ path: fixture.path, lease: 6_000 }))
    const { gate, release } = createGate()
    const failures: unknown[] = []
    const ids: string[] = []
    const observer = { failed: ({ error }: { error: unknown }) => failures.push(error) }
    const receiver = createReceiver({ signatureKey: KEY, duplicates, observer }).on(
      '*',
      async (_, { id }) => {
        ids.push(id)
        await gate
      },
    )
    const payload = uniquePayload()
    const first = deliver(receiver, payload)
    await until(() => ids.length === 1)
    const locker = await lock(fixture.path)
    try {
      release()
      await first
      const retry = await deliver(receiver, payload)
      expect([retry.status, retry.body]).toEqual([200, { status: 'duplicate' }])
      expect(await isDone(ids[0])).toBe(false)
    } finally {
      await locker.stop('SIGKILL')
    }
    await until(async () => {
      const claim = await other.claim(ids[0] ?? '')
      expect(claim).not.toBe('claimed')
      return claim === 'done'
    })
    expect((await deliver(receiver, payload)).body).toEqual({ status: 'duplicate' })
    expect(ids.length).toBe(1)
  })
})

it('removes expired claims', async () => {
  const first = createSqliteDuplicates({ path: fixture.path, lease: 1_000 })
  for (const id of ['a', 'b', 'c']) await first.claim(id)
  await first.close() // keeps the claims, as if the process had exited
  const second = keep(createSqliteDuplicates({ path: fixture.path }))
  let number = 0
  await until(async () => {
    expect(await second.claim(`other${number++}`)).toBe('claimed')
    return read("SELECT count(*) AS found FROM claim WHERE id IN ('a', 'b', 'c')") === 0
  })
  expect(read('SELECT count(*) AS found FROM claim')).toBe(number)
})

const isDone = async (id = ''): Promise<boolean> =>
  read(`SELECT count(*) AS found FROM claim WHERE id = '${id}' AND owner IS NULL`) === 1

function read(sql: string): number {
  const db = openDatabase(fixture.path)
  const { found } = db.prepare(sql).get() as { found: number }
  db.close()
  return found
}
