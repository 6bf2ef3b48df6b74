import { describe, expect, it } from 'vitest'
import { createCallQueue, type QueuedDelivery } from '../../src/inbox/call-queue.ts'
import { editOf } from './deliveries.ts'

const MIB = 1024 ** 2
/** Milliseconds for which a group waits, longer than a test. */
const LONG = 60_000

const memberOf = (service?: string, size?: number): QueuedDelivery => ({
  delivery: editOf(service, size),
  handler: '',
  isAlone: false,
})
const times = <T>(count: number, create: () => T): T[] => Array.from({ length: count }, create)
const tick = () => new Promise((resolve) => setTimeout(resolve))

/** Creates a queue whose calls run until `endAll` is called. */
function useQueue({ concurrency = 4, isTogether = true } = {}) {
  const work = { concurrency, wait: isTogether ? LONG : undefined, order: undefined }
  const calls: (readonly QueuedDelivery[])[] = []
  const ends: (() => void)[] = []
  let ended = 0
  const queue = createCallQueue<QueuedDelivery>({
    work,
    async run(members) {
      calls.push(members)
      await new Promise<void>((resolve) => ends.push(resolve))
    },
    onEnd: () => ended++,
  })
  const endAll = async () => {
    for (const end of ends.splice(0)) end()
    await tick()
  }
  return { queue, work, calls, endAll, ended: () => ended }
}

describe('the queue of calls', () => {
  it('has room for as many deliveries as calls if they are handled one by one', async () => {
    const { queue, calls, endAll, ended } = useQueue({ concurrency: 2, isTogether: false })
    const members = times(2, () => memberOf())
    for (const [index, member] of members.entries()) {
      expect(queue.room().limit).toBe(2 - index)
      queue.add(member)
    }
    expect(queue.room().limit).toBe(0)
    expect(calls).toEqual(members.map((member) => [member]))
    await endAll()
    expect([queue.room().limit, ended()]).toEqual([2, 2])
  })

  it('begins waiting calls when it is asked for its room after the concurrency was raised', async () => {
    const { queue, work, calls, endAll } = useQueue({ concurrency: 1 })
    for (const service of ['A', 'B', 'C']) queue.add({ ...memberOf(service), isAlone: true })
    expect([calls.length, queue.room().limit]).toEqual([1, 0])
    work.concurrency = 2
    expect([queue.room().limit, calls.length]).toEqual([50, 2])
    work.concurrency = 1
    expect(queue.room().limit).toBe(0)
    await endAll()
    expect(calls).toHaveLength(3)
    await endAll()
  })

  it('calls a group when it has 1,000 deliveries, or 16 MiB', async () => {
    const { queue, calls, endAll } = useQueue()
    const small = memberOf('Small')
    for (let i = 0; i < 1_001; i++) queue.add({ ...small })
    expect(calls.map(({ length }) => length)).toEqual([1_000])
    const large = memberOf('Large', 8 * MIB)
    for (let i = 0; i < 3; i++) queue.add({ ...large })
    // A second one would make the group too large, so that it is called with one delivery.
    expect(calls.map(({ length }) => length)).toEqual([1_000, 1])
    queue.add(memberOf('Larger', 16 * MIB))
    expect(calls.map(({ length }) => length)).toEqual([1_000, 1, 1])
    await endAll()
    expect(calls.map(({ length }) => length)).toEqual([1_000, 1, 1, 1])
    await endAll()
  })

  it('has room for 50 deliveries at once, and for 2,000 or 64 MiB in total', async () => {
    const { queue, endAll } = useQueue()
    const small = memberOf()
    const { length } = small.delivery.rawBody
    expect(queue.room()).toEqual({ limit: 50, maxBytes: 64 * MIB })
    for (let i = 0; i < 1_999; i++) queue.add({ ...small })
    expect(queue.room()).toEqual({ limit: 1, maxBytes: 64 * MIB - 1_999 * length })
    queue.add(memberOf())
    expect(queue.room().limit).toBe(0)
    queue.flush()
    await endAll()
    await endAll()
    expect(queue.room()).toEqual({ limit: 50, maxBytes: 64 * MIB })

    const large = memberOf('Large', 16 * MIB)
    for (let i = 0; i < 4; i++) {
      expect(queue.room().limit).toBe(50)
      queue.add({ ...large })
    }
    expect(queue.room().limit).toBe(0)
    for (let i = 0; i < 4; i++) await endAll()
    expect(queue.room()).toEqual({ limit: 50, maxBytes: 64 * MIB })
  })

  it('counts a removed delivery no more', async () => {
    const { queue, calls } = useQueue()
    const large = memberOf('Large', 15 * MIB)
    for (let i = 0; i < 5; i++) {
      const member = { ...large }
      queue.add(member)
      expect(queue.remove(member)).toBe(true)
      expect(queue.remove(member)).toBe(false)
    }
    expect(queue.room()).toEqual({ limit: 50, maxBytes: 64 * MIB })
    // A group whose size still included removed deliveries would be called at once.
    queue.add(memberOf('Large', MIB))
    expect(calls).toEqual([])
    queue.flush()
    expect(calls.map(({ length }) => length)).toEqual([1])
  })

  it('does not remove a delivery whose call has begun', async () => {
    const { queue, calls } = useQueue()
    const [first, second] = [memberOf(), memberOf()]
    queue.add(first)
    queue.add(second)
    queue.flush()
    expect(queue.remove(first)).toBe(false)
    expect(calls).toEqual([[first, second]])
  })

  it('calls without waiting once it is flushed', () => {
    const { queue, calls } = useQueue()
    queue.flush()
    queue.add(memberOf('Parcels'))
    queue.add(memberOf('Roads'))
    expect(calls.map(({ length }) => length)).toEqual([1, 1])
  })

  it('runs the calls of a service one at a time, and lets deliveries join the next one until it begins', async () => {
    const { queue, calls, endAll } = useQueue()
    queue.flush()
    for (let i = 0; i < 3; i++) queue.add(memberOf('Parcels'))
    expect(calls.map(({ length }) => length)).toEqual([1])
    await endAll()
    expect(calls.map(({ length }) => length)).toEqual([1, 2])
    await endAll()
  })

  it('calls a delivery that must be alone in a call of its own, after those of its service', async () => {
    const { queue, calls, endAll } = useQueue()
    queue.flush()
    const [first, alone, last] = [memberOf(), { ...memberOf(), isAlone: true }, memberOf()]
    for (const member of [first, alone, last]) queue.add(member)
    expect(calls).toEqual([[first]])
    await endAll()
    expect(calls).toEqual([[first], [alone]])
    await endAll()
    expect(calls).toEqual([[first], [alone], [last]])
  })

  it('takes deliveries in advance while all calls are in use, as many as there are calls', () => {
    const { queue } = useQueue({ concurrency: 2 })
    for (let i = 0; i < 4; i++) {
      expect(queue.room().limit).toBe(50)
      queue.add({ ...memberOf(`Service${i}`), isAlone: true })
    }
    expect(queue.room().limit).toBe(0)
  })
})
