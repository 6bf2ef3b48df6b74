// @module-tag sqlite
import { statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver, PermanentFailure } from 'geohook'
import type { DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY, payloadOf } from '../../helpers/deliver.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { createDisk, describeWithDisks } from '../../helpers/tmpfs.ts'
import { deliveryOf } from '../deliveries.ts'
import { beforeStatements } from './faulty-calls.ts'
import { useFolder } from './fixture.ts'

/** Lets workers handle all deliveries in an inbox. */
async function handleAll(inbox: DurableInbox): Promise<void> {
  const workers = inbox.work({ handle: async () => {} }, { concurrency: 50 })
  await until(async () => (await inbox.stats()).waiting + (await inbox.stats()).active === 0)
  await workers.close()
}

await describeWithDisks(() => {
  describe('a SQLite inbox on a full disk of 8 MB', () => {
    function createFull(): { inbox: DurableInbox; path: string; fill(): void } {
      const disk = createDisk(8)
      onTestFinished(() => disk.remove())
      const path = join(disk.path, 'inbox.db')
      const inbox = createSqliteInbox({ path, observer: { trouble() {} } })
      onTestFinished(() => inbox.close())
      let files = 0
      return {
        inbox,
        path,
        fill() {
          const { bavail, bsize } = statfsSync(disk.path)
          writeFileSync(join(disk.path, `filler${files++}`), Buffer.alloc(Math.max(0, bavail - 40) * bsize))
        },
      }
    }

    const bodiesIn = async (inbox: DurableInbox, ids: string[]): Promise<boolean[]> =>
      Promise.all(ids.map(async (id) => ((await inbox.get(id))?.delivery.rawBody.length ?? 0) > 0))

    it('removes the bodies of the oldest done deliveries until a rejected one fits, and then stops', async () => {
      const { inbox, fill } = createFull()
      const deliveries = Array.from({ length: 50 }, () => deliveryOf(new Uint8Array(60_000)))
      for (const delivery of deliveries) await inbox.put(delivery)
      await handleAll(inbox)
      const ids = deliveries.map(({ id }) => id)
      let removed = 0
      for (let round = 0; round < 2; round++) {
        fill()
        await expect(inbox.put(deliveryOf(new Uint8Array(50_000)))).rejects.toThrow('is almost full')
        await until(() => inbox.put(deliveryOf(new Uint8Array(50_000))).then(Boolean, () => false))
        // If bodies were still being removed, many more would be gone after these transactions.
        for (let i = 0; i < 30; i++) await inbox.retry('unknown')
        const bodies = await bodiesIn(inbox, ids)
        expect(bodies.indexOf(true)).toBeGreaterThan(removed)
        removed = bodies.indexOf(true)
        expect(bodies.slice(removed)).not.toContain(false)
      }
      expect(await inbox.put(deliveries[0] as (typeof deliveries)[0])).toBe('duplicate')
    })

    it('keeps the bodies that handlers with another name still need', async () => {
      const { inbox, fill } = createFull()
      const deliveries = ['A', 'B'].map((type) => ({
        ...deliveryOf(new TextEncoder().encode(payloadOf(type) + ' '.repeat(60_000))),
        changeTypes: [type],
      }))
      for (const delivery of deliveries) await inbox.put(delivery)
      let isBroken = true
      const receiver = createReceiver({ signatureKey: KEY })
        .on(['A', 'B'], () => {}, { name: 'log' })
        .on(
          'A',
          () => {
            if (isBroken) throw new PermanentFailure('down')
          },
          { name: 'erp' },
        )
      const workers = inbox.work(receiver)
      await until(async () => {
        const { done, dead } = await inbox.stats()
        return done === 2 && dead === 1
      })
      await workers.close()
      const [needed, done] = deliveries.map(({ id }) => id) as [string, string]
      fill()
      await expect(inbox.put(deliveryOf(new Uint8Array(50_000)))).rejects.toThrow('is almost full')
      await until(async () => !(await bodiesIn(inbox, [done]))[0])
      expect(await bodiesIn(inbox, [needed])).toEqual([true])
      isBroken = false
      await inbox.retry(needed, 'erp')
      inbox.work(receiver)
      await until(async () => (await inbox.stats()).done === 3)
    })

    it('looks for space only once for many rejected deliveries', async () => {
      let vacuums = 0
      beforeStatements((sql) => {
        if (sql.startsWith('PRAGMA incremental_vacuum')) vacuums++
      })
      const { inbox, fill } = createFull()
      await inbox.put(deliveryOf())
      fill()
      const put = () => inbox.put(deliveryOf(new Uint8Array(200_000)))
      for (const expected of [1, 2]) {
        const results = await Promise.allSettled(Array.from({ length: 5 }, put))
        expect(results.every(({ status }) => status === 'rejected')).toBe(true)
        await until(() => vacuums >= expected)
        // A later write ends after all transactions that are already queued.
        for (let i = 0; i < 5; i++) await inbox.retry('unknown')
        expect(vacuums).toBe(expected)
      }
    })
  })
})

describe('purge() of a SQLite inbox', () => {
  const fixture = useFolder()

  it.each([{}, { newerThan: 3_600_000 }])(
    'removes at most 64 MiB of bodies in a transaction, but at least one: %o',
    async (conditions) => {
      const statements: (number | 'commit')[] = []
      beforeStatements((sql, [seqs]) => {
        if (sql.startsWith('DELETE FROM task')) statements.push(JSON.parse(String(seqs)).length)
        if (sql === 'COMMIT' && typeof statements.at(-1) === 'number') statements.push('commit')
      })
      const inbox = fixture.open()
      for (let i = 0; i < 5; i++) await inbox.put(deliveryOf())
      await handleAll(inbox)
      const half = 32 * 1024 ** 2
      const db = openDatabase(fixture.path)
      db.exec(
        `UPDATE delivery SET size = CASE seq WHEN 3 THEN ${half + 1} WHEN 5 THEN ${3 * half} ELSE ${half} END`,
      )
      db.close()
      expect(await inbox.purge({ state: 'done', ...conditions })).toBe(5)
      expect(statements).toEqual([2, 1, 1, 1, 0].flatMap((removed) => [removed, 'commit']))
    },
  )

  it.each([
    [1, [1, 1]],
    [900, [2, 1]],
    [2_600, [4, 2]],
  ])('of %i pages shrinks the file in up to 4 transactions of 500 pages', async (pages, expected) => {
    // purge() removes deliveries until it finds none, so it looks for them twice.
    const vacuums: number[] = []
    beforeStatements((sql) => {
      if (sql.startsWith('SELECT seq, handler, size FROM task')) vacuums.push(0)
      if (sql === 'PRAGMA incremental_vacuum(500)') vacuums.push((vacuums.pop() ?? 0) + 1)
    })
    const inbox = fixture.open()
    await inbox.put(deliveryOf(new Uint8Array(pages * 4_096)))
    await handleAll(inbox)
    vacuums.length = 0
    expect(await inbox.purge({ state: 'done' })).toBe(1)
    expect(vacuums).toEqual(expected)
  })

  it('with conditions shrinks the file in the same way', async () => {
    let vacuums = 0
    beforeStatements((sql) => {
      if (sql === 'PRAGMA incremental_vacuum(500)') vacuums++
    })
    const inbox = fixture.open()
    await inbox.put(deliveryOf(new Uint8Array(2_600 * 4_096)))
    await handleAll(inbox)
    vacuums = 0
    expect(await inbox.purge({ state: 'done', handler: '' })).toBe(1)
    expect(vacuums).toBe(4)
  })
})
