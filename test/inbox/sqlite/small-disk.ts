import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createReceiver } from 'geohook'
import type { Workers } from 'geohook/sqlite'
import { afterEach, beforeEach, expect } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY } from '../../helpers/deliver.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { createDisk, type Disk } from '../../helpers/tmpfs.ts'
import { type Served, serve } from './http-server.ts'

/** A receiver whose SQLite inbox is on a disk of 8 MB, for each test. */
export interface SmallDisk {
  readonly served: Served
  /** Ids, each time that a handler had one. */
  readonly handled: string[]
  /** Posts, several at once, until one is refused. */
  flood(size: number): Promise<void>
  /** Another program takes every byte that is left. */
  fill(): void
  work(concurrency: number): Workers
  restart(beforeStart: () => void): Promise<void>
  /** Waits until a delivery is accepted again; all that were accepted are handled, each once, and the file is sound. */
  requireRecovery(): Promise<void>
}

export function useSmallDisk(): SmallDisk {
  let disk: Disk
  let path = ''
  let served: Served
  let handled: string[] = []
  beforeEach(async () => {
    handled = []
    disk = createDisk(8)
    path = join(disk.path, 'inbox.db')
    served = await serve(path)
  })
  afterEach(async () => {
    await served.close()
    await disk.remove()
  })

  return {
    get served() {
      return served
    },
    get handled() {
      return handled
    },
    async flood(size) {
      for (let isRefused = false; !isRefused; ) {
        const answers = await Promise.all(Array.from({ length: 8 }, () => served.post(size)))
        const refused = answers.filter(({ status }) => status !== 202)
        for (const { status } of refused) expect(status).toBe(503)
        isRefused = refused.length > 0
      }
      expect(served.accepted.length).toBeGreaterThan(20)
    },
    fill() {
      const { status } = spawnSync('dd', ['if=/dev/zero', `of=${join(disk.path, 'filler')}`, 'bs=4096'])
      expect(status).toBe(1)
    },
    work: (concurrency) =>
      served.inbox.work(
        createReceiver({ signatureKey: KEY }).on('*', (_, { id }) => void handled.push(id)),
        { concurrency },
      ),
    async restart(beforeStart) {
      const { accepted } = served
      await served.close()
      beforeStart()
      served = await serve(path)
      served.accepted.push(...accepted)
    },
    async requireRecovery() {
      await until(async () => (await served.post(20_000)).status === 202, 50_000)
      await until(() => handled.length === served.accepted.length, 50_000)
      expect(handled.sort()).toEqual(served.accepted.sort())
      const db = openDatabase(path)
      expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
      db.close()
    },
  }
}
