// @module-tag sqlite

import { createReceiver, PermanentFailure, RetryAfter } from 'geohook'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY } from '../../helpers/deliver.ts'
import { describeWithDisks } from '../../helpers/tmpfs.ts'
import { useSmallDisk } from './small-disk.ts'

await describeWithDisks(() => {
  describe('a SQLite inbox on a disk of 8 MB', () => {
    const small = useSmallDisk()

    it('rejects deliveries while the disk is almost full, handles all stored ones, and then accepts more', async () => {
      await small.flood(20_000)
      small.work(4)
      await small.expectRecovery()
    })

    it('rejects deliveries on a full disk, handles all stored ones after another program filled the rest, and accepts more', async () => {
      await small.flood(20_000)
      small.fill()
      small.work(4)
      await small.expectRecovery()
    })

    it('recovers if another program fills the disk before any delivery is rejected', async () => {
      for (let i = 0; i < 60; i++) expect((await small.server.post(20_000)).status).toBe(202)
      small.fill()
      small.work(8)
      await small.expectRecovery()
    })

    it('recovers after a restart on a full disk', async () => {
      await small.flood(20_000)
      await small.restart(small.fill)
      small.work(4)
      await small.expectRecovery()
    })

    it('handles all its deliveries even if ten attempts of each fail in two inboxes on a full disk', async () => {
      await small.flood(2_000)
      small.fill()
      const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, { id }, { attempt }) => {
        if (attempt <= 10) throw new RetryAfter(0, { message: 'x'.repeat(100) })
        small.handled.push(id)
      })
      const other = createSqliteInbox({ path: small.path, observer: { failed() {}, trouble() {} } })
      try {
        for (const inbox of [small.server.inbox, other]) inbox.work(receiver, { concurrency: 25 })
        await until(() => small.handled.length > 0, 300_000)
        await small.expectRecovery()
      } finally {
        await other.close()
      }
    })

    it('stores all its deliveries as dead letters on a full disk', async () => {
      await small.flood(2_000)
      small.fill()
      const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {
        throw new PermanentFailure('x'.repeat(100))
      })
      const { inbox, accepted } = small.server
      inbox.work(receiver, { concurrency: 50 })
      await until(async () => (await inbox.stats()).dead === accepted.length)
      const { groups } = await inbox.errors()
      expect(groups).toMatchObject([{ error: 'not stored: disk full', count: accepted.length }])
    })

    it('removes the bodies of done deliveries, but still recognizes them as duplicates', async () => {
      for (let i = 0; i < 30; i++) await small.server.post(20_000)
      const workers = small.work(4)
      await until(() => small.handled.length === 30)
      await until(async () => (await small.server.inbox.stats()).done === 30)
      await workers.close()
      await small.flood(20_000)
      const first = small.server.accepted[0] ?? ''
      await until(async () => (await small.server.inbox.get(first))?.delivery.rawBody.length === 0)
      expect(await small.server.inbox.get(first)).toMatchObject({ state: 'done', attempts: 1 })
      const item = await small.server.inbox.get(small.server.accepted.at(-1) ?? '')
      expect(item?.delivery.rawBody.length).toBeGreaterThan(20_000)
      expect(await small.server.inbox.put({ ...item?.delivery, id: first } as never)).toBe('duplicate')
    })
  })
})
