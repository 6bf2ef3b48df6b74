import { randomUUID } from 'node:crypto'
import { createReceiver, type Handler } from 'geohook'
import type { DurableInbox } from 'geohook/inbox'
import { createRedisInbox, type RedisInboxOptions } from 'geohook/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { uniquePayload } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { removePrefix } from '../../helpers/redis-keys.ts'
import { recordEnds } from './record-ends.ts'

/** Inboxes on a shared Redis server, with a prefix for each test. */
export function usePrefix(url: string) {
  let prefix = ''
  let inboxes: DurableInbox[] = []
  const client = new Redis(url, { lazyConnect: true })
  beforeAll(() => client.connect())
  afterAll(() => client.disconnect())
  beforeEach(() => {
    prefix = `geohook-test-${randomUUID()}`
    inboxes = []
  })
  afterEach(async () => {
    await Promise.all(inboxes.map((inbox) => inbox.close()))
    await removePrefix(url, prefix)
  })

  const keyOf = (id: string): string => `${prefix}:inbox:delivery-${id}`

  function open(options: Partial<RedisInboxOptions> = {}): DurableInbox {
    const observer = { failed() {}, dead() {}, trouble() {} }
    const inbox = createRedisInbox({ url, prefix, retryDelay: 10, observer, ...options })
    inboxes.push(inbox)
    return inbox
  }

  return {
    client,
    prefixOfTest: () => prefix,
    /** The key of a delivery's job. */
    keyOf,
    /** Simulates another process that takes a delivery in progress. */
    async takeOver(id: string): Promise<void> {
      await client.set(`${keyOf(id)}:lock`, 'another:0', 'PX', 60_000)
    },
    /** Ends leases. BullMQ returns the deliveries to the queue after half a lease to one lease. */
    async expireLeases(ids: readonly string[]): Promise<void> {
      const expiring = client.multi()
      for (const id of ids)
        expiring.del(`${keyOf(id)}:lock`).srem(`${prefix}:inbox:stalled`, `delivery-${id}`)
      await expiring.exec()
    },
    /** Makes a delivery a suspect, as if its process had exited during an attempt. */
    async suspect(id: string): Promise<void> {
      await client.hset(keyOf(id), 'stc', 1)
    },
    open,
    /** Opens an inbox with a short lease, whose observer is a {@link recordEnds}. */
    openRecorded(options: Partial<RedisInboxOptions> = {}) {
      const recorded = recordEnds()
      return { ...recorded, inbox: open({ lease: 1_000, observer: recorded.observer, ...options }) }
    },
    send: (inbox: DurableInbox, payload = uniquePayload()) =>
      deliver(createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } }), payload),
    receiverWith: (handler: Handler) => createReceiver({ signatureKey: KEY }).on('*', handler),
  }
}
