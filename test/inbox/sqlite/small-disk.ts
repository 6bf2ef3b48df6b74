import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createReceiver } from 'geohook'
import type { Workers } from 'geohook/inbox'
import { afterEach, beforeEach, expect } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY } from '../../helpers/deliver.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { createDisk, type Disk } from '../../helpers/tmpfs.ts'
import { type InboxServer, startInboxServer } from './http-server.ts'

/** A server with an inbox on a disk of 8 MB. Each test gets a new disk and server. */
export interface SmallDisk {
  /** Path of the inbox. */
  readonly path: string
  readonly server: InboxServer
  /** Ids of deliveries in the order of handler calls. */
  readonly handled: string[]
  /** Sends deliveries, eight at a time, until one is rejected. */
  flood(size: number): Promise<void>
  /** Fills the disk completely, as another program would. */
  fill(): void
  work(concurrency: number): Workers
  restart(beforeStart: () => void): Promise<void>
  /** Asserts that deliveries are accepted again, all accepted ones are handled once, and the file is not damaged. */
  expectRecovery(): Promise<void>
}

export function useSmallDisk(): SmallDisk {
  let disk: Disk
  let path = ''
  let server: InboxServer
  let handled: string[] = []
  beforeEach(async () => {
    handled = []
    disk = createDisk(8)
    path = join(disk.path, 'inbox.db')
    server = await startInboxServer(path)
  })
  afterEach(async () => {
    await server.close()
    await disk.remove()
  })

  return {
    get path() {
      return path
    },
    get server() {
      return server
    },
    get handled() {
      return handled
    },
    async flood(size) {
      for (let isRejected = false; !isRejected; ) {
        const answers = await Promise.all(Array.from({ length: 8 }, () => server.post(size)))
        const rejected = answers.filter(({ status }) => status !== 202)
        for (const { status } of rejected) expect(status).toBe(503)
        isRejected = rejected.length > 0
      }
      expect(server.accepted.length).toBeGreaterThan(20)
    },
    fill() {
      const { status } = spawnSync('dd', ['if=/dev/zero', `of=${join(disk.path, 'filler')}`, 'bs=4096'])
      expect(status).toBe(1)
    },
    work: (concurrency) =>
      server.inbox.work(
        createReceiver({ signatureKey: KEY }).on('*', (_, { id }) => void handled.push(id)),
        { concurrency },
      ),
    async restart(beforeStart) {
      const { accepted } = server
      await server.close()
      beforeStart()
      server = await startInboxServer(path)
      server.accepted.push(...accepted)
    },
    async expectRecovery() {
      await until(async () => (await server.post(20_000)).status === 202, 50_000)
      await until(() => handled.length === server.accepted.length, 50_000)
      expect(handled.sort()).toEqual(server.accepted.sort())
      const db = openDatabase(path)
      expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
      db.close()
    },
  }
}
