// @module-tag sqlite
import { randomUUID } from 'node:crypto'
import { type ClosableDuplicateStore, createMemoryInbox, type DurableInbox } from 'geohook/inbox'
import { createPostgresDuplicates } from 'geohook/postgres'
import { createRedisDuplicates } from 'geohook/redis'
import { createSqliteInbox } from 'geohook/sqlite'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { createFolder } from '../helpers/folder.ts'
import { createGate } from '../helpers/gate.ts'
import { removePrefix } from '../helpers/redis-keys.ts'
import { describeWith, POSTGRES, REDIS } from '../helpers/services.ts'
import { deliveryOf, idOf } from '../inbox/deliveries.ts'
import { useSchema } from '../inbox/postgres/fixture.ts'

const HOUR = 3_600_000
const QUICK = { retryDelay: 50, maxRetryDelay: 50, observer: { failed() {}, trouble() {} } }
const JUMPS: [string, number][] = [
  ['forwards', HOUR],
  ['backwards', -HOUR],
]

/** Milliseconds by which the clock of this process differs from the real time. */
let offset = 0
beforeEach(() => {
  offset = 0
  const read = Date.now
  vi.spyOn(Date, 'now').mockImplementation(() => read() + offset)
})
afterEach(() => void vi.restoreAllMocks())

function keep<Store extends { close(): Promise<void> }>(store: Store): Store {
  onTestFinished(() => store.close())
  return store
}

/** Lets the clock jump during the first attempt of a delivery, which fails. A second delivery arrives after the jump. */
async function expectHandledAndRetried(inbox: DurableInbox, jump: number): Promise<void> {
  const [first, second] = [deliveryOf(), deliveryOf()]
  await inbox.put(first)
  inbox.work({
    async handle() {
      if (offset !== 0) return
      offset = jump
      await inbox.put(second)
      throw new Error('once')
    },
  })
  await until(async () => (await inbox.stats()).done === 2)
  expect(await inbox.get(first.id)).toMatchObject({ state: 'done', attempts: 2 })
}

/** Checks that claims expire by the clock of the server, which does not jump. */
async function expectClaimsRemain(store: ClosableDuplicateStore, jump: number): Promise<void> {
  const [busy, done] = [idOf('a'), idOf('b')]
  for (const id of [busy, done]) expect(await store.claim(id)).toBe('claimed')
  await store.done(done)
  offset = jump
  expect([await store.claim(busy), await store.claim(done)]).toEqual(['busy', 'done'])
}

describe.each(JUMPS)('when the clock of a process jumps %s by an hour', (_, jump) => {
  it('an inbox in memory handles and retries all deliveries', () =>
    expectHandledAndRetried(keep(createMemoryInbox(QUICK)), jump))

  it('a SQLite inbox handles and retries all deliveries', async () => {
    const folder = createFolder()
    onTestFinished(() => folder.remove())
    await expectHandledAndRetried(
      keep(createSqliteInbox({ path: folder.fileIn('inbox.db'), ...QUICK })),
      jump,
    )
  })
})

it('if the clock jumps forwards by more than a lease, at most one other process also handles a delivery of a SQLite inbox', async () => {
  const folder = createFolder()
  onTestFinished(() => folder.remove())
  const open = () => keep(createSqliteInbox({ path: folder.fileIn('inbox.db'), ...QUICK }))
  const [first, second] = [open(), open()]
  const [held, later] = [deliveryOf(), deliveryOf()]
  const { gate, release } = createGate()
  const attempts: Record<string, (number | undefined)[]> = { [held.id]: [], [later.id]: [] }
  const handle = async ({ id }: { id: string }, context?: { attempt: number }) => {
    attempts[id]?.push(context?.attempt)
    if (id === held.id) await gate
  }
  await first.put(held)
  first.work({ handle }, { concurrency: 1 })
  await until(() => attempts[held.id]?.length === 1)
  offset = HOUR
  second.work({ handle }, { concurrency: 2 })
  await second.put(later)
  await until(() => attempts[later.id]?.length === 1)
  release()
  await until(async () => (await first.stats()).done === 2)
  expect(attempts[later.id]).toEqual([1])
  // The first process renews its lease within a second of the jump, unless the second process is faster.
  expect([[1], [1, 1]]).toContainEqual(attempts[held.id])
})

await describeWith(POSTGRES, (url) => {
  describe.each(JUMPS)('in PostgreSQL, when the clock of a process jumps %s by an hour', (name, jump) => {
    const { open, schema } = useSchema(url, `clocks_${name}`)

    it('the inbox handles and retries all deliveries', () => expectHandledAndRetried(open(QUICK), jump))

    it('claims and done deliveries of the duplicate store remain', () =>
      expectClaimsRemain(keep(createPostgresDuplicates({ connectionString: url, schema })), jump))
  })
})

await describeWith(REDIS, (url) => {
  it.each(JUMPS)(
    'claims and done deliveries in Redis remain when the clock of a process jumps %s by an hour',
    async (_, jump) => {
      const prefix = `geohook-clocks-${randomUUID()}`
      const connection = new Redis(url)
      onTestFinished(async () => {
        connection.disconnect()
        await removePrefix(url, prefix)
      })
      await expectClaimsRemain(keep(createRedisDuplicates({ connection, prefix })), jump)
    },
  )
})
