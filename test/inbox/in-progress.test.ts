// @module-tag sqlite
import { rmSync } from 'node:fs'
import { createMemoryInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { createGate } from '../helpers/gate.ts'
import { openDatabase } from '../helpers/sqlite.ts'
import { deliveryOf } from './deliveries.ts'
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
  let isDeleting = false
  const errors: string[] = []
  const inbox = fixture.keep(
    createSqliteInbox({
      path: fixture.path,
      observer: { trouble: ({ error }) => errors.push(String(error)) },
      clock() {
        if (isDeleting) rmSync(`${fixture.path}-wal`)
        isDeleting = false
        return now
      },
    }),
  )
  const delivery = deliveryOf()
  await inbox.put(delivery)
  const attempts: (number | undefined)[] = []
  inbox.work({ handle: async (_, context) => void attempts.push(context?.attempt) })
  isDeleting = true // the next read of the clock is in the transaction that takes the delivery
  await until(() => errors.length === 1)
  expect(errors).toEqual([expect.stringContaining('was deleted')])
  expect(await inbox.get(delivery.id)).toMatchObject({ state: 'active', attempts: 1 })
  now += 31_000
  await until(async () => (await inbox.get(delivery.id))?.state === 'done')
  expect(attempts).toEqual([2])
})

it('moves a delivery to the dead letters if its lease expires during its last attempt', async () => {
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
  // The lease has expired by the clock of the second inbox only, so that the first one does not renew it before.
  const [first, second] = [open(now), open(now + 31_000)]
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
  second.work({ handle })
  await until(async () => (await second.get(delivery.id))?.state === 'dead')
  const entry = await second.get(delivery.id)
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
      const { at } = db.prepare(`SELECT at FROM delivery WHERE id = '${first.id}'`).get() as { at: number }
      db.close()
      left = at - Date.now()
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
