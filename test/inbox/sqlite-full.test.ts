// @module-tag sqlite

import { describe, it } from 'vitest'
import { describeWithDisks } from '../helpers/tmpfs.ts'
import { useSmallDisk } from './small-disk.ts'

await describeWithDisks(() => {
  describe('a SQLite inbox on a disk of 8 MB', { timeout: 120_000 }, () => {
    const small = useSmallDisk()

    it('refuses deliveries while it is full, handles all it has while another program took the rest, and accepts more', async () => {
      await small.flood(20_000)
      small.fill()
      small.work(4)
      await small.requireRecovery()
    })
  })
})
