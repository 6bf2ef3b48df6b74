import { randomUUID } from 'node:crypto'
import { createReceiver, type Handler } from 'geohook'
import { createRedisInbox, type DurableInbox, type RedisInboxOptions } from 'geohook/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { uniquePayload } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { removePrefix } from '../../helpers/redis-keys.ts'

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

  return {
    client,
    prefixOfTest: () => prefix,
    open(options: Partial<RedisInboxOptions> = {}): DurableInbox {
      const observer = { failed() {}, dead() {}, trouble() {} }
      const inbox = createRedisInbox({ url, prefix, retryDelay: 10, observer, ...options })
      inboxes.push(inbox)
      return inbox
    },
    send: (inbox: DurableInbox, payload = uniquePayload()) =>
      deliver(createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } }), payload),
    receiverWith: (handler: Handler) => createReceiver({ signatureKey: KEY }).on('*', handler),
  }
}
