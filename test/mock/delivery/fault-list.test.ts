import type { FaultSeed } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { create } from '../support.ts'
import { answering, CREATED, createAt, named, receive } from './support.ts'

const REFUSED = 'http://receiver.example/hook'

/** Triggers `events` events, and returns the faults of their deliveries. */
async function faultsOf(service: ReturnType<typeof create>, events: number): Promise<(string | undefined)[]> {
  const names: (string | undefined)[] = []
  for (let count = 0; count < events; count++) {
    for (const { fault } of await service.trigger(CREATED)) names.push(fault)
  }
  return names
}

describe('the list of faults', () => {
  it('is initially empty, then contains copies of the added faults', () => {
    const { faults } = create([])
    expect(faults.list()).toEqual([])
    const seed: FaultSeed = { fault: 'altered', webhookId: 'a', times: 2, delay: 3 }
    const added = faults.add(seed)
    expect(added).toEqual({ ...seed, id: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    Object.assign(seed, { times: 9 })
    Object.assign(added, { times: 9 })
    Object.assign(faults.list()[0]!, { times: 9 })
    expect(faults.list()).toMatchObject([{ times: 2 }])
  })

  it('a fault is removed after the given number of deliveries', async () => {
    const service = create(named(REFUSED, { a: {} }))
    service.faults.add({ fault: 'altered', times: 2 })
    expect(await faultsOf(service, 1)).toEqual(['altered'])
    expect(service.faults.list()).toMatchObject([{ times: 1 }])
    expect(await faultsOf(service, 2)).toEqual(['altered', undefined])
    expect(service.faults.list()).toEqual([])
  })

  it('a fault without times stays until it is removed', async () => {
    const service = create(named(REFUSED, { a: {} }))
    const { id } = service.faults.add({ fault: 'gzip' })
    expect(await faultsOf(service, 3)).toEqual(['gzip', 'gzip', 'gzip'])
    expect([service.faults.remove(id), service.faults.remove(id)]).toEqual([true, false])
    expect(await faultsOf(service, 1)).toEqual([undefined])
  })

  it('a fault for one webhook does not affect others', async () => {
    const service = create(named(REFUSED, { a: {}, b: {} }))
    service.faults.add({ fault: 'altered', webhookId: 'b', times: 1 })
    expect(await faultsOf(service, 2)).toEqual([undefined, 'altered', undefined, undefined])
  })

  it('a delivery gets one fault: the oldest that applies', async () => {
    const service = create(named(REFUSED, { a: {}, b: {} }))
    service.faults.add({ fault: 'gzip', webhookId: 'b', times: 1 })
    service.faults.add({ fault: 'altered', times: 3 })
    service.faults.add({ fault: 'unsigned', webhookId: 'a', times: 1 })
    expect(await faultsOf(service, 3)).toEqual([
      'altered',
      'gzip',
      'altered',
      'altered',
      'unsigned',
      undefined,
    ])
  })

  it('deliveries do not get the faults of change extractions', async () => {
    const service = create(named(REFUSED, { a: {} }))
    service.faults.add({ fault: 'html_answer', step: 'submit', times: 1 })
    service.faults.add({ fault: 'altered', times: 1 })
    expect(await faultsOf(service, 2)).toEqual(['altered', undefined])
    expect(service.faults.list()).toMatchObject([{ fault: 'html_answer', step: 'submit', times: 1 }])
  })

  it('a retry keeps the fault of its delivery, and gets no other', async () => {
    const { url, requests } = await receive(answering(500, 500, 200))
    const { service, clock } = createAt(named(url, { a: {} }))
    service.faults.add({ fault: 'unsigned', times: 1 })
    service.faults.add({ fault: 'gzip', times: 1 })
    const triggered = service.trigger(CREATED)
    await clock.advance(60_000)
    expect((await triggered).map(({ fault }) => fault)).toEqual(['unsigned', 'unsigned', 'unsigned'])
    expect(requests.every(({ headers }) => !('x-service' in headers))).toBe(true)
    expect(service.faults.list()).toMatchObject([{ fault: 'gzip' }])
  })

  it('clear() and reset() empty the list; restore() does not', () => {
    const service = create([])
    const { faults } = service
    faults.add({ fault: 'altered' })
    service.restore({})
    expect(faults.list()).toHaveLength(1)
    service.reset()
    expect(faults.list()).toEqual([])
    faults.add({ fault: 'altered' })
    faults.clear()
    expect(faults.list()).toEqual([])
  })

  it.each<[string, object]>([
    ['an unknown name', { fault: 'unlucky' }],
    ['a name of Object', { fault: 'constructor' }],
    ['no name', {}],
    ['no times', { fault: 'altered', times: 0 }],
    ['too many times', { fault: 'altered', times: 1_000_001 }],
    ['half a time', { fault: 'altered', times: 1.5 }],
    ['a delay before now', { fault: 'delayed', delay: -1 }],
    ['a delay of more than a day', { fault: 'delayed', delay: 86_400_001 }],
    ['an empty id', { fault: 'altered', webhookId: '' }],
    ['an id of its own', { fault: 'altered', id: 'mine' }],
    ['a misspelled member', { fault: 'altered', time: 1 }],
    ['a webhook for a fault of change extractions', { fault: 'job_failed', webhookId: 'a' }],
    ['a step for a fault of deliveries', { fault: 'altered', step: 'poll' }],
    ['a step for a fault that has only one', { fault: 'job_failed', step: 'submit' }],
    ['a webhook for a fault of the administration', { fault: 'admin_slow', webhookId: 'a' }],
    ['a member for another fault', { fault: 'admin_slow', member: 'name' }],
    ['an unknown member', { fault: 'edit_member_ignored', member: 'id' }],
    ['an unknown step', { fault: 'token_expired', step: 'later' }],
  ])('refuses %s', (_, seed) => {
    const { faults } = create([])
    expect(() => faults.add(seed as FaultSeed)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(faults.list()).toEqual([])
  })
})
