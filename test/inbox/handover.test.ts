import { createReceiver, type Receiver } from 'geohook'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type InboxOptions, readInboxOptions } from '../../src/inbox/inbox-options.ts'
import { createMemoryTable } from '../../src/inbox/memory/table.ts'
import { createTableInbox } from '../../src/inbox/table-inbox.ts'
import { until } from '../contract/inbox/fixture.ts'
import { KEY, payloadOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { deliveryWithId, idOf } from './deliveries.ts'

const LEASE = 30_000
const ID = idOf('a')

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Opens an inbox on a table in memory, for other workers and another clock. */
function open(options: InboxOptions = {}) {
  const time = { now: Date.now() }
  const clock = () => time.now
  const noted: string[] = []
  const note = (name: string) => () => noted.push(name)
  const names = ['handled', 'unhandled', 'failed', 'dead', 'trouble']
  const observer = Object.fromEntries(names.map((name) => [name, note(name)]))
  const table = createMemoryTable(clock)
  const inbox = createTableInbox(table, readInboxOptions({ lease: LEASE, observer, ...options }), clock)
  closing.push(() => inbox.close())
  const stateOf = async (id = ID) => (await inbox.get(id))?.state
  return { inbox, table, time, noted, stateOf }
}

const on = (changeTypes: string[], run = () => {}): Receiver =>
  createReceiver({ signatureKey: KEY }).on(changeTypes, run)

/** A delivery with one event of each change type. */
function deliveryOf(changeTypes: string[], id = ID) {
  const events = changeTypes.flatMap((type) => JSON.parse(payloadOf(type)).events)
  const payload = { ...JSON.parse(payloadOf('Any')), events }
  return { ...deliveryWithId(id), rawBody: new TextEncoder().encode(JSON.stringify(payload)), changeTypes }
}

describe('workers with different handlers', () => {
  it('leave a suspect to the worker with its handlers, and keep its number of attempts', async () => {
    const { inbox, table, time, stateOf } = open()
    await inbox.put(deliveryOf(['New']))
    await table.announce({ id: 'newer', changeTypes: ['Old', 'New'], names: new Map() })
    await table.take({ owner: 'ended', handler: '', lease: LEASE, limit: 1, maxBytes: 1_000 })
    time.now += LEASE + 1
    await table.announce({ id: 'newer', changeTypes: ['Old', 'New'], names: new Map() })
    inbox.work(on(['Old']))
    const request = {
      owner: 'newer',
      lease: LEASE,
      attempts: new Map([['', 20]]),
      except: new Set<string>(),
      isAlone: false,
    }
    await until(async () => ((await table.get(ID)) && (await table.workers()).length === 2) ?? false)
    await inbox.put(deliveryOf(['Old'], idOf('b')))
    await until(async () => (await stateOf(idOf('b'))) === 'done')
    let taken: unknown
    await until(async () => {
      taken = await table.takeSuspect(request)
      return taken !== undefined
    })
    expect(taken).toMatchObject({ attempt: 1, isSuspect: true })
    expect(await inbox.get(ID)).toMatchObject({ state: 'active', attempts: 1 })
  })

  it('count the interrupted attempt of a suspect that becomes unhandled, because no worker has its handlers', async () => {
    const { inbox, table, time, stateOf } = open()
    await inbox.put(deliveryOf(['New']))
    await table.take({ owner: 'ended', handler: '', lease: LEASE, limit: 1, maxBytes: 1_000 })
    time.now += LEASE + 1
    inbox.work(on(['Old']))
    await until(async () => (await stateOf()) === 'unhandled')
    expect(await inbox.get(ID)).toMatchObject({ attempts: 1 })
  })

  it('make a suspect dead after its last attempt, although another worker has its handlers', async () => {
    const { inbox, table, time, stateOf } = open({ attempts: 1 })
    await inbox.put(deliveryOf(['New']))
    await table.take({ owner: 'ended', handler: '', lease: LEASE, limit: 1, maxBytes: 1_000 })
    time.now += LEASE + 1
    const request = {
      owner: 'ended',
      lease: LEASE,
      attempts: new Map([['', 1]]),
      except: new Set<string>(),
      isAlone: true,
    }
    const suspect = await table.takeSuspect(request)
    if (typeof suspect !== 'object') throw new Error('there is no suspect')
    await table.startAlone('ended', suspect, LEASE)
    time.now += LEASE + 1
    await table.announce({ id: 'newer', changeTypes: ['Old', 'New'], names: new Map() })
    inbox.work(on(['Old']))
    await until(async () => (await stateOf()) === 'dead')
  })

  it('handle unhandled deliveries as soon as receiver.on adds their handler, whatever other workers handle', async () => {
    const { inbox, table, stateOf } = open()
    const receiver = on(['Old'])
    await inbox.put(deliveryOf(['New']))
    await table.announce({ id: 'busy', changeTypes: ['Old', 'New'], names: new Map() })
    await table.announce({ id: 'same', changeTypes: ['Old'], names: new Map() })
    inbox.work(receiver)
    await until(async () => (await stateOf()) === 'unhandled')
    receiver.on('New', () => {})
    await until(async () => (await stateOf()) === 'done', 5_000)
  })

  it('keep a delivery as unhandled if a schema rejects it and they have no handler for it', async () => {
    const { inbox, noted, stateOf } = open({ attempts: 1 })
    const validate = (value: unknown) =>
      JSON.stringify(value).includes('New') ? { issues: [{ message: 'no New' }] } : { value }
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
    await inbox.put(deliveryOf(['New']))
    inbox.work(createReceiver({ signatureKey: KEY, schema }).on('Old', () => {}))
    await until(async () => (await stateOf()) === 'unhandled')
    await until(() => noted.length > 0)
    expect([noted, (await inbox.get(ID))?.attempts]).toEqual([['failed'], 0])
  })

  it("know each other after the clock was set, so that nothing becomes done with unhandled: 'done'", async () => {
    const { inbox, time, stateOf } = open({ unhandled: 'done' })
    const handled: string[] = []
    const { gate, release } = createGate()
    const block = () => gate
    // This worker announces itself again when the gate opens, because it has no room until then.
    inbox.work(on(['Old', 'New'], () => void handled.push('New')).on('Block', block), { concurrency: 1 })
    await inbox.put(deliveryOf(['Block'], idOf('b')))
    await until(async () => (await stateOf(idOf('b'))) === 'active')
    inbox.work(on(['Old']))
    await inbox.put(deliveryOf(['Old'], idOf('c')))
    await until(async () => (await stateOf(idOf('c'))) === 'done')
    time.now += 3_600_000
    await inbox.put(deliveryOf(['New']))
    await until(async () => !['waiting', 'active'].includes((await stateOf()) ?? ''))
    release()
    await until(async () => (await stateOf()) === 'done')
    expect(handled).toEqual(['New'])
  })

  it('do not give a delivery that they can handle in part to an object that may decline it', async () => {
    const { inbox, stateOf } = open()
    const handled: string[] = []
    inbox.work({ handle: async () => 'unhandled' })
    inbox.work(on(['X'], () => void handled.push('X')))
    await inbox.put(deliveryOf(['X', 'Z']))
    await until(async () => (await stateOf()) === 'done')
    expect(handled).toEqual(['X'])
  })

  it('take an unhandled delivery without change types, which a damaged row can lack', async () => {
    const { inbox, stateOf } = open()
    await inbox.put({ ...deliveryOf(['New']), changeTypes: [] })
    const { close } = inbox.work({ handle: async () => 'unhandled' })
    await until(async () => (await stateOf()) === 'unhandled')
    await close()
    inbox.work(on(['*']))
    await until(async () => (await stateOf()) === 'done')
  })

  it('try each delivery once, even if an object declines more deliveries than a worker remembers', async () => {
    const { inbox, table } = open()
    const count = 10_200
    for (let i = 0; i < count; i++) await inbox.put(deliveryWithId(`${i}`.padStart(32, '0')))
    let runs = 0
    const decline = {
      async handle() {
        runs++
        return 'unhandled'
      },
    }
    const take = vi.spyOn(table, 'take')
    inbox.work(decline, { concurrency: 1_000 })
    await until(async () => (await inbox.stats()).unhandled === count)
    const polls = take.mock.calls.length
    await until(() => take.mock.calls.length > polls + 2)
    expect(runs).toBe(count)
  })

  it('takes an unhandled delivery of one name although another name has no room for older ones', async () => {
    const { inbox, table, stateOf } = open()
    const handled: string[] = []
    const { gate, release } = createGate()
    const names = new Map(['erp', 'crm'].map((name) => [name, [name]]))
    await table.announce({ id: 'older', changeTypes: [], names })
    const giveBack = async (handler: string) => {
      await table.route(1_000)
      const request = { owner: 'older', handler, lease: LEASE, limit: 1_000, maxBytes: 1_000_000 }
      const { taken } = await table.take(request)
      const end = { state: 'unhandled', attempts: 0 } as const
      await table.endAttempts(
        'older',
        taken.map((one) => ({ ...one, end })),
      )
    }
    for (let i = 0; i < 600; i++) await inbox.put(deliveryOf(['erp'], `${i}`.padStart(32, '0')))
    await giveBack('erp')
    await inbox.put(deliveryOf(['crm'], ID))
    await giveBack('crm')
    await table.withdraw('older')
    const receiver = createReceiver({ signatureKey: KEY, inbox })
      .on('erp', () => gate, { name: 'erp', concurrency: 1 })
      .on('crm', () => handled.push('crm'), { name: 'crm' })
    inbox.work(receiver)
    await until(async () => (await stateOf()) === 'done')
    // One that becomes unhandled while the scan waits for room.
    await table.announce({ id: 'older', changeTypes: [], names: new Map([['crm', ['crm', 'later']]]) })
    await inbox.put(deliveryOf(['later'], idOf('b')))
    await giveBack('crm')
    await table.withdraw('older')
    receiver.on('later', () => handled.push('later'), { name: 'crm' })
    await until(async () => (await stateOf(idOf('b'))) === 'done')
    expect(handled).toEqual(['crm', 'later'])
    release()
  })

  it('routes deliveries to its own names, although its announcement expired while it was stopped', async () => {
    const { inbox, table, time } = open()
    const handled: string[] = []
    const { settings } = table
    vi.spyOn(table, 'settings').mockImplementation(async () => {
      time.now += 60_000
      return settings()
    })
    await inbox.put(deliveryOf(['New']))
    const receiver = on(['New'], () => void handled.push(''))
    inbox.work(receiver.on('New', () => void handled.push('erp'), { name: 'erp' }))
    await until(async () => (await inbox.stats()).done > 0 && (await inbox.stats()).waiting === 0)
    await until(async () => (await inbox.stats()).active === 0)
    expect(handled.sort()).toEqual(['', 'erp'])
  })
})
