import { randomBytes } from 'node:crypto'
import { createRedisInbox, type DurableInbox } from 'geohook/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPrivateRedis, findRedis, type PrivateRedis } from '../../helpers/private-redis.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'

const program = findRedis()
const isSkipped = program === undefined && process.env.CI !== 'true'

const newDelivery = () => deliveryWithId(randomBytes(16).toString('hex'))

// A server of its own: commands are counted, and scripts removed.
describe.skipIf(isSkipped)('puts into Redis', () => {
  let server: PrivateRedis
  let inbox: DurableInbox
  let number = 0
  beforeAll(async () => {
    if (program === undefined) throw new Error('no program redis-server: install it')
    server = await createPrivateRedis(program)
    await server.start()
  })
  afterAll(() => server?.remove())
  const open = (options = {}) =>
    createRedisInbox({
      url: server.url,
      prefix: `puts-${number}`,
      observer: { failed() {}, dead() {}, trouble() {} },
      ...options,
    })
  beforeEach(() => {
    number++
    inbox = open()
  })
  afterEach(() => inbox.close())

  /** Scripts and transactions that clients have run. */
  async function countCalls(): Promise<number> {
    const info = String(await server.command('INFO', 'commandstats'))
    const calls = [...info.matchAll(/^cmdstat_(?:eval|evalsha|exec):calls=(\d+)/gm)]
    return calls.reduce((sum, [, count]) => sum + Number(count), 0)
  }

  it('ask for little more than one script each: BullMQ adds a job with one', async () => {
    await inbox.put(newDelivery())
    const before = await countCalls()
    const puts = await Promise.all(Array.from({ length: 500 }, () => inbox.put(newDelivery())))
    expect(new Set(puts)).toEqual(new Set(['stored']))
    // Those that count what is pending are few, but not always as many.
    expect((await countCalls()) - before).toBeLessThan(500 * 1.3)
  })

  it('each have their own result: stored, duplicate, or an error for a key that Redis cannot use', async () => {
    await inbox.put(deliveryWithId(idOf(1)))
    await server.command('SET', `puts-${number}:inbox:delivery-${idOf(3)}`, 'no job')
    const ids = [2, 1, 3, 4, 2, 5].map(idOf)
    const results = await Promise.allSettled(ids.map((id) => inbox.put(deliveryWithId(id))))
    expect(results.map((one) => (one.status === 'fulfilled' ? one.value : 'error'))).toEqual([
      ...['stored', 'duplicate', 'error', 'stored', 'duplicate', 'stored'],
    ])
    expect((await inbox.stats()).waiting).toBe(4)
  })

  it('by several processes at once store each delivery once', async () => {
    const inboxes = Array.from({ length: 4 }, () => open())
    const ids = Array.from({ length: 50 }, () => newDelivery().id)
    const puts = await Promise.all(inboxes.flatMap((one) => ids.map((id) => one.put(deliveryWithId(id)))))
    await Promise.all(inboxes.map((one) => one.close()))
    expect(puts.filter((kept) => kept === 'stored')).toHaveLength(50)
    expect((await inbox.stats()).waiting).toBe(50)
    expect((await inbox.list()).entries.every(({ changeTypes }) => changeTypes.length === 1)).toBe(true)
  })

  it('go on when Redis has forgotten its scripts, and say of nothing that it is there which is not', async () => {
    const first = newDelivery()
    await inbox.put(first)
    await server.command('SCRIPT', 'FLUSH')
    const later = [newDelivery(), newDelivery()]
    for (const delivery of later) await inbox.put(delivery).catch(() => {})
    // As a sender tries again, also with another process.
    const other = open()
    for (const delivery of later) await other.put(delivery)
    await other.close()
    expect((await inbox.stats()).waiting).toBe(3)
    for (const { id } of [first, ...later]) expect((await inbox.get(id))?.delivery.rawBody.length).toBe(2)
  })

  it('have their entry and their result after Redis has forgotten its scripts', async () => {
    await inbox.put(newDelivery())
    await server.command('SCRIPT', 'FLUSH')
    const delivery = newDelivery()
    expect(await inbox.put(delivery)).toBe('stored')
    expect(await inbox.put(delivery)).toBe('duplicate')
    const { entries } = await inbox.list()
    expect(entries.map(({ size, changeTypes }) => [size, changeTypes.length])).toEqual(Array(2).fill([2, 1]))
  })

  it('store a delivery whose key holds a hash that is not a job, also when they come at once', async () => {
    const delivery = newDelivery()
    const key = `puts-${number}:inbox:delivery-${delivery.id}`
    await server.command('HSET', key, 'stc', '1')
    const puts = await Promise.all([inbox.put(delivery), inbox.put(delivery), inbox.put(newDelivery())])
    expect(puts.sort()).toEqual(['duplicate', 'stored', 'stored'])
    expect((await inbox.stats()).waiting).toBe(2)
    expect((await inbox.get(delivery.id))?.delivery.rawBody.length).toBe(2)
  })

  it('of a full inbox call nothing a duplicate whose key is not a job', async () => {
    const full = open({ maxPending: 1 })
    await full.put(newDelivery())
    const delivery = newDelivery()
    await server.command('HSET', `puts-${number}:inbox:delivery-${delivery.id}`, 'stc', '1')
    await expect(full.put(delivery)).rejects.toThrow('full')
    await full.close()
  })
})
