// @module-tag sqlite
import { writeFileSync } from 'node:fs'
import { createReceiver } from 'geohook'
import type { DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { uniquePayload, until } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createFolder } from '../../helpers/folder.ts'
import { createGate } from '../../helpers/gate.ts'
import { type Started, startNode } from '../../helpers/process.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { root } from '../../package/entries.ts'

/** Lease in milliseconds. On a busy machine, a process may fail to renew a shorter lease in time. */
const LEASE = 3_000
/** Lease of tests in which no lease has to expire. */
const LONG_LEASE = 30_000

let folder: ReturnType<typeof createFolder>
let path = ''
let inbox: DurableInbox
let children: Started[] = []
beforeEach(() => {
  folder = createFolder()
  path = folder.fileIn('inbox.db')
  inbox = createSqliteInbox({ path, lease: LEASE })
  children = []
})
afterEach(async () => {
  await Promise.all(children.map((child) => child.stop('SIGKILL')))
  await inbox.close()
  await folder.remove()
})

/** Starts a process that uses the built package. It runs `program` and then prints `ready`. */
async function start(program: string): Promise<Started> {
  const source = `
    import { createSqliteDuplicates, createSqliteInbox } from 'geohook/sqlite'
    const path = process.argv[1]
    setInterval(() => {}, 1000)
    ${program}
    console.log('ready')`
  const child = startNode(['--input-type=module', '--eval', source, path], {}, { cwd: root })
  children.push(child)
  await child.printed(/ready/)
  return child
}

const workerProgram = (handle: string, lease = LEASE): string => `
  const inbox = createSqliteInbox({ path, lease: ${lease} })
  const handle = async ({ id }, { attempt }) => { console.log('handles ' + id + ' ' + attempt); ${handle} }
  inbox.work({ handle }, { concurrency: 5 })`

async function send(count: number): Promise<string[]> {
  const ids: string[] = []
  const receiver = createReceiver({
    signatureKey: KEY,
    inbox,
    observer: { handled: ({ delivery }) => ids.push(delivery.id) },
  })
  const answers = await Promise.all(Array.from({ length: count }, () => deliver(receiver, uniquePayload())))
  expect(answers.map(({ status }) => status)).toEqual(Array(count).fill(202))
  return ids.sort()
}

/** Suspends a process while it holds no lock on the file. Otherwise, the other processes could not write. */
async function suspend({ child }: Started): Promise<void> {
  const db = openDatabase(path)
  db.exec('PRAGMA busy_timeout = 0')
  try {
    await until(() => {
      child.kill('SIGSTOP')
      try {
        db.exec('BEGIN IMMEDIATE; ROLLBACK')
        return true
      } catch (error) {
        if (!/locked|busy/.test(String(error))) throw error
        child.kill('SIGCONT')
        return false
      }
    })
  } finally {
    db.close()
  }
}

const handledBy = ({ stdout }: Started): string[] =>
  [...stdout.matchAll(/handles (\w+)/g)].map(([, id = '']) => id)

it('three processes share the deliveries, and handle each once', async () => {
  await Promise.all(Array.from({ length: 3 }, () => start(workerProgram('', LONG_LEASE))))
  const ids = await send(100)
  await until(async () => (await inbox.stats()).done === 100)
  await until(() => children.flatMap(handledBy).length >= 100)
  expect(children.flatMap(handledBy).sort()).toEqual(ids)
})

it('takes over the deliveries of a killed process', async () => {
  const child = await start(workerProgram('await new Promise(() => {})'))
  const [id] = await send(1)
  await child.printed(/handles \w+ 1/)
  await child.stop('SIGKILL')
  expect((await inbox.get(id ?? ''))?.state).toBe('active')
  const handled: [string, number][] = []
  inbox.work({ handle: async (delivery, context) => void handled.push([delivery.id, context?.attempt ?? 0]) })
  await until(async () => (await inbox.stats()).done === 1)
  expect(handled).toEqual([[id, 1]]) // the interrupted attempt does not count
})

it('a process that was suspended does not end or renew the newer attempt of another process', async () => {
  // After the process resumes, one of its handlers ends and the other never does. Neither may affect a newer attempt.
  const child = await start(`
    import { existsSync } from 'node:fs'
    const inbox = createSqliteInbox({ path, lease: ${LEASE}, observer: { failed() {} } })
    const handle = async ({ id }, { attempt, signal }) => {
      console.log('handles ' + id + ' ' + attempt)
      signal.addEventListener('abort', () => console.log('stopped ' + id))
      if (handle.count++ > 0) await new Promise(() => {})
      while (!existsSync(path + '-go')) await new Promise((resolve) => setTimeout(resolve, 5))
      console.log('ended ' + id)
    }
    handle.count = 0
    inbox.work({ handle })`)
  const ids = await send(2)
  await until(() => handledBy(child).length === 2)
  await suspend(child)
  // Both leases expire now, so both deliveries become suspects. A process takes one suspect at a time.
  const other = await start(`
    import { existsSync } from 'node:fs'
    ${workerProgram("while (!existsSync(path + '-end')) await new Promise((resolve) => setTimeout(resolve, 5))")}`)
  const { gate, release } = createGate()
  const attempts: (number | undefined)[] = []
  inbox.work({
    handle: async (_, context) => {
      attempts.push(context?.attempt)
      await gate
    },
  })
  await other.printed(/handles \w+ 1/)
  await until(() => attempts.length === 1)
  writeFileSync(`${path}-go`, '')
  child.child.kill('SIGCONT')
  await child.printed(/ended/)
  await child.printed(/stopped/)
  // The other processes keep their attempts for longer than a lease.
  const isLater = Date.now() + 1.5 * LEASE
  await until(async () => {
    for (const id of ids) expect(await inbox.get(id)).toMatchObject({ state: 'active', attempts: 1 })
    return Date.now() > isLater
  })
  release()
  writeFileSync(`${path}-end`, '')
  await until(async () => (await inbox.stats()).done === 2)
  for (const id of ids) expect((await inbox.get(id))?.attempts).toBe(1)
  expect(attempts).toEqual([1])
})

it('gives each delivery to one of three processes that claim the same deliveries concurrently', async () => {
  const claimProgram = `
    const duplicates = createSqliteDuplicates({ path })
    const ids = Array.from({ length: 100 }, (_, i) => 'delivery' + i)
    const claims = await Promise.all(ids.map((id) => duplicates.claim(id)))
    ids.forEach((id, i) => claims[i] === 'claimed' && console.log('handles ' + id))`
  await Promise.all([start(claimProgram), start(claimProgram), start(claimProgram)])
  const ids = Array.from({ length: 100 }, (_, i) => `delivery${i}`)
  expect(children.flatMap(handledBy).sort()).toEqual(ids.sort())
})
