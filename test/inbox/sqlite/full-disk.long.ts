// @module-tag sqlite

import { createReceiver } from 'geohook'
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

    it('handles all its deliveries even if attempts fail on a full disk', async () => {
      await small.flood(5_000)
      small.fill()
      const failed = new Set<string>()
      small.server.inbox.work(
        createReceiver({ signatureKey: KEY }).on('*', (_, { id }) => {
          if (!failed.has(id) && failed.add(id)) throw new Error('x'.repeat(100))
          small.handled.push(id)
        }),
        { concurrency: 50 },
      )
      await small.expectRecovery()
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
