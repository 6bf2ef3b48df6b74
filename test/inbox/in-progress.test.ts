// @module-tag sqlite
import { rmSync } from 'node:fs'
import { createMemoryInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import type { TakenDelivery } from '../../src/inbox/engine-port.ts'
import { createSqliteTable } from '../../src/inbox/sqlite/table.ts'
import { createTransactions } from '../../src/inbox/sqlite/transactions.ts'
import { until } from '../contract/inbox/fixture.ts'
import { createGate } from '../helpers/gate.ts'
import { openDatabase } from '../helpers/sqlite.ts'
import { deliveryOf } from './deliveries.ts'
import { beforeStatements } from './sqlite/faulty-calls.ts'
import { useFolder } from './sqlite/fixture.ts'

const fixture = useFolder()

describe.each(['memory', 'SQLite'])('two workers of one inbox in %s', (engine) => {
  it('do not take a delivery that is in progress in the other worker, even if its lease has expired', async () => {
    let now = Date.now()
    const options = { clock: () => now }
    const inbox = fixture.keep(
      engine === 'memory'
        ? createMemoryInbox(options)
        : createSqliteInbox({ path: fixture.path, ...options }),
    )
    const gates = new Map<string, () => void>()
    const begun: [string, number | undefined][] = []
    const handle = async ({ id }: { id: string }, context?: { attempt: number }) => {
      const { gate, release } = createGate()
      begun.push([id, context?.attempt])
      if (gates.size === 2) return
      gates.set(id, release)
      await gate
    }
    for (let i = 0; i < 2; i++) {
      inbox.work({ handle }, { concurrency: 1 })
      await inbox.put(deliveryOf())
      await until(() => begun.length === i + 1)
    }
    const [ended = '', held = ''] = gates.keys()
    gates.get(ended)?.()
    await until(async () => (await inbox.stats()).done === 1)
    now += 31_000
    const last = deliveryOf()
    await inbox.put(last)
    await until(async () => (await inbox.get(last.id))?.state === 'done')
    expect(begun).toEqual([ended, held, last.id].map((id) => [id, 1]))
    gates.get(held)?.()
    await until(async () => (await inbox.stats()).done === 3)
  })
})

it('handles a delivery again after its lease if the log is deleted while a worker takes the delivery', async () => {
  let now = Date.now()
  const errors: string[] = []
  beforeStatements((sql) => {
    if (sql.startsWith('UPDATE task SET state = 1') && errors.length === 0) rmSync(`${fixture.path}-wal`)
  })
  const inbox = fixture.keep(
    createSqliteInbox({
      path: fixture.path,
      observer: { trouble: ({ error }) => errors.push(String(error)) },
      clock: () => now,
    }),
  )
  const delivery = deliveryOf()
  await inbox.put(delivery)
  const attempts: (number | undefined)[] = []
  inbox.work({ handle: async (_, context) => void attempts.push(context?.attempt) })
  await until(() => errors.length === 1)
  expect(errors).toEqual([expect.stringContaining('was deleted')])
  expect(await inbox.get(delivery.id)).toMatchObject({ state: 'active', attempts: 1 })
  now += 31_000
  await until(async () => (await inbox.get(delivery.id))?.state === 'done')
  expect(attempts).toEqual([1]) // the handlers did not run before
})

it('moves a delivery to the dead letters if the process of its last attempt ended, and it was handled alone', async () => {
  const now = Date.now()
  const open = (time: number) =>
    fixture.keep(
      createSqliteInbox({
        path: fixture.path,
        clock: () => time,
        attempts: 1,
        observer: { failed() {}, dead() {} },
      }),
    )
  // The leases have expired by the clocks of the later ones only, so that the first inbox does not renew its lease before.
  const [first, last] = [open(now), open(now + 62_000)]
  const killed = fixture.keep(
    createSqliteTable(createTransactions(fixture.path), () => now + 31_000, Infinity),
  )
  const delivery = deliveryOf()
  await first.put(delivery)
  const { gate, release } = createGate()
  let runs = 0
  const handle = async () => {
    runs++
    await gate
  }
  first.work({ handle })
  await until(() => runs === 1)
  const suspect = {
    owner: 'killed',
    lease: 30_000,
    attempts: new Map([['', 1]]),
    isAlone: true,
    except: new Set<string>(),
  }
  const taken = await killed.takeSuspect(suspect)
  expect(taken).toMatchObject({ attempt: 1 })
  await killed.startAlone('killed', taken as TakenDelivery, 30_000)
  last.work({ handle })
  await until(async () => (await last.get(delivery.id))?.state === 'dead')
  const entry = await last.get(delivery.id)
  expect(entry?.error).toContain('its process ended during the last attempt')
  expect(entry?.attempts).toBe(1)
  expect(runs).toBe(1)
  release()
})

it('renews leases after the event loop was blocked, before it takes another delivery', async () => {
  const open = () => fixture.keep(createSqliteInbox({ path: fixture.path, lease: 1_000 }))
  const [inbox, other] = [open(), open()]
  const [first, second] = [deliveryOf(), deliveryOf()]
  const { gate, release } = createGate()
  let hasBegun = false
  let left: number | undefined
  await inbox.put(first)
  inbox.work({
    async handle({ id }) {
      hasBegun = true
      if (id === first.id) return gate
      const db = openDatabase(fixture.path)
      const { due } = db
        .prepare(`SELECT due FROM task JOIN delivery USING (seq) WHERE id = '${first.id}'`)
        .get() as { due: number }
      db.close()
      left = due - Date.now()
    },
  })
  await until(() => hasBegun)
  await other.put(second) // a put by another inbox does not wake the worker
  const end = performance.now() + 1_200
  while (performance.now() < end);
  await until(() => left !== undefined)
  release()
  expect(left).toBeGreaterThan(0)
})
