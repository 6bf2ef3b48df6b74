import { rmSync } from 'node:fs'
import { createSqliteInbox } from 'geohook/sqlite'
import { expect, it } from 'vitest'
import { createFolder } from '../../helpers/folder.ts'
import { type Started, startNode } from '../../helpers/process.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { root } from '../../package/entries.ts'

/** Program that puts deliveries, eight at a time, and prints the id of each accepted delivery, and when. */
const PUT_PROGRAM = `
  import { createSqliteInbox } from 'geohook/sqlite'
  const inbox = createSqliteInbox({ path: process.argv[1], maxPending: 1e9 })
  let number = 0
  async function put() {
    const id = (process.pid + '0'.repeat(10) + number++).padStart(32, '0')
    const delivery = { id, rawBody: new Uint8Array(500), contentType: '', headers: {}, receivedAt: new Date(),
      profile: 'service', payload: {}, events: [], changeTypes: [] }
    for (;;) {
      try {
        await inbox.put(delivery)
        return console.log('accepted ' + id + ' ' + Date.now())
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
  }
  for (let i = 0; i < 8; i++) void (async () => { for (;;) await put() })()`

const acceptedBy = ({ stdout }: Started): string[] =>
  [...stdout.matchAll(/accepted (\d+) \d+\n/g)].map(([, id = '']) => id)

/** Returns the number of deliveries that were accepted after a time: output may arrive much later. */
const countSince = ({ stdout }: Started, time: number): number =>
  [...stdout.matchAll(/accepted \d+ (\d+)\n/g)].filter(([, at]) => Number(at) > time).length

/** Tests that deliveries survive if the log is deleted repeatedly and all processes are killed. */
export function describeDeletedLog({ processes, deletions }: { processes: number; deletions: number }): void {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
  const title = `${processes} killed processes whose log was deleted ${deletions} times lose no accepted delivery, seed ${seed}`
  it(title, { timeout: 120_000 }, async () => {
    let state = seed
    const random = (): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
      return state / 0x7fffffff
    }
    const folder = createFolder()
    const path = folder.fileIn('inbox.db')
    const startProcess = (): Started =>
      startNode(['--input-type=module', '--eval', PUT_PROGRAM, path], {}, { cwd: root })
    const started = Array.from({ length: processes }, startProcess)
    /** Waits until each process has put 30 deliveries from now on, so that it has noticed a deletion. */
    const waitForPuts = async (): Promise<void> => {
      const now = Date.now()
      for (const process of started)
        while (countSince(process, now) < 30)
          await new Promise((resolve) => process.child.stdout?.once('data', resolve))
    }
    try {
      await waitForPuts()
      for (let i = 0; i < deletions; i++) {
        await new Promise((resolve) => setTimeout(resolve, 100 * random()))
        rmSync(`${path}-wal`, { force: true })
        await waitForPuts()
      }
    } finally {
      await Promise.all(started.map((process) => process.stop('SIGKILL')))
    }
    const accepted = started.flatMap(acceptedBy)
    expect(accepted.length).toBeGreaterThan(30 * deletions)
    const db = openDatabase(path)
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    db.close()
    const kept = new Set<string>()
    const inbox = createSqliteInbox({ path })
    for (let after: string | undefined = '0'; after !== undefined; ) {
      const page = await inbox.list({ limit: 1_000, after })
      for (const { id } of page.entries) kept.add(id)
      after = page.next
    }
    await inbox.close()
    expect(accepted.filter((id) => !kept.has(id))).toEqual([])
    await folder.remove()
  })
}
