import type { StoredDelivery } from '../receiver/types.ts'
import { groupOf } from './group-key.ts'
import type { WorkConfig } from './method-options.ts'

/** Maximum number of deliveries in a group. */
const MAX_MEMBERS = 1_000

/** Maximum size of the bodies in a group in bytes, unless a single body is larger. */
const MAX_BYTES = 16 * 1024 ** 2

/** Maximum number of deliveries that a process takes from the store at once. */
const MAX_TAKEN_AT_ONCE = 50

/** Maximum number of deliveries, and their bytes, that a process takes from the store for all groups together. */
const MAX_TAKEN = 2_000
const MAX_TAKEN_BYTES = 4 * MAX_BYTES

/** A delivery taken from the store, before its handlers are called. */
export interface QueuedDelivery {
  delivery: StoredDelivery
  /** Name of the handlers. Deliveries share a call only if they have the same one. */
  handler: string
  /** True if the delivery must not share a call, for example because an earlier attempt failed. */
  isAlone: boolean
}

/** Deliveries that one call of the handlers handles. */
interface Call<Member> {
  /** The handler, tenant and service whose calls run one at a time; undefined if the call can run at any time. */
  service: string | undefined
  members: Member[]
  bytes: number
  timer?: ReturnType<typeof setTimeout>
}

export interface CallQueueOptions<Member> {
  work: Readonly<WorkConfig>
  /** Handles deliveries. Must not reject. */
  run(members: readonly Member[]): Promise<void>
  /** Called after each call. */
  onEnd(): void
}

/** Decides which deliveries are handled in one call, and when the call begins. */
export interface CallQueue<Member> {
  /** The number of deliveries, and the bytes of their bodies, that can be taken from the store now. */
  room(): { limit: number; maxBytes: number }
  add(member: Member): void
  /** Removes a delivery. Returns false if its call has begun. */
  remove(member: Member): boolean
  /** Begins calls as soon as possible from now on, without waiting for further deliveries. */
  flush(): void
}

export function createCallQueue<Member extends QueuedDelivery>(
  options: CallQueueOptions<Member>,
): CallQueue<Member> {
  const { work, run, onEnd } = options
  const { wait } = work
  /** Groups that accept further deliveries, by service. */
  const open = new Map<string | undefined, Call<Member>>()
  /** Calls that may begin, in order. Groups among them can still be open. */
  const ready = new Set<Call<Member>>()
  const busyServices = new Set<string | undefined>()
  const total = { calls: 0, members: 0, bytes: 0 }
  let isFlushed = false

  const isOpen = (call: Call<Member>): boolean => open.get(call.service) === call

  function addToGroup(member: Member, service: string): void {
    const { length } = member.delivery.rawBody
    let group = open.get(service)
    if (group && group.bytes + length > MAX_BYTES) close(group)
    group = open.get(service) ?? openGroup(service)
    group.members.push(member)
    group.bytes += length
    if (group.members.length >= MAX_MEMBERS || group.bytes >= MAX_BYTES) close(group)
    else if (isFlushed) makeReady(group)
  }

  function openGroup(service: string): Call<Member> {
    const group: Call<Member> = { service, members: [], bytes: 0 }
    group.timer = setTimeout(() => makeReady(group), wait)
    open.set(service, group)
    return group
  }

  /** Keeps further deliveries out of a group. */
  function close(group: Call<Member>): void {
    open.delete(group.service)
    makeReady(group)
  }

  function makeReady(call: Call<Member>): void {
    clearTimeout(call.timer)
    ready.add(call)
    beginCalls()
  }

  function beginCalls(): void {
    for (const call of ready) {
      if (total.calls >= work.concurrency) return
      const { service } = call
      if (busyServices.has(service)) continue
      ready.delete(call)
      if (isOpen(call)) open.delete(service)
      if (service !== undefined) busyServices.add(service)
      void begin(call)
    }
  }

  async function begin({ service, members, bytes }: Call<Member>): Promise<void> {
    total.calls++
    await run(members)
    total.calls--
    total.members -= members.length
    total.bytes -= bytes
    busyServices.delete(service)
    beginCalls()
    onEnd()
  }

  return {
    room() {
      beginCalls() // the concurrency may have been raised
      const { concurrency } = work
      const free = wait === undefined ? concurrency - total.calls - ready.size : MAX_TAKEN - total.members
      const maxBytes = MAX_TAKEN_BYTES - total.bytes
      // While all calls are in use, a group takes only a few deliveries in advance. Otherwise, every call in `ready`
      // waits for a call of its service, so take more: they may belong to other services.
      const closed = [...ready].filter((call) => !isOpen(call)).length
      const isFull = wait !== undefined && total.calls >= concurrency && closed >= concurrency
      return { limit: isFull || maxBytes <= 0 ? 0 : Math.max(0, Math.min(free, MAX_TAKEN_AT_ONCE)), maxBytes }
    },

    add(member) {
      const bytes = member.delivery.rawBody.length
      total.members++
      total.bytes += bytes
      const group = wait === undefined ? undefined : groupOf(member.delivery)
      const service = group && `${member.handler} ${group}`
      if (service === undefined || member.isAlone) makeReady({ service, members: [member], bytes })
      else addToGroup(member, service)
    },

    remove(member) {
      for (const call of [...open.values(), ...ready]) {
        const index = call.members.indexOf(member)
        if (index < 0) continue
        const bytes = member.delivery.rawBody.length
        call.members.splice(index, 1)
        call.bytes -= bytes
        total.members--
        total.bytes -= bytes
        if (call.members.length > 0) return true
        clearTimeout(call.timer)
        ready.delete(call)
        if (isOpen(call)) open.delete(call.service)
        return true
      }
      return false
    },

    flush() {
      isFlushed = true
      for (const group of open.values()) makeReady(group)
    },
  }
}
