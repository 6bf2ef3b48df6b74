import { createReceiver, type Inbox } from 'geohook'
import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { uniquePayload, until } from '../contract/inbox/fixture.ts'
import { deliver, KEY } from '../helpers/deliver.ts'

it('distributes deliveries over several inboxes by id, and recognizes duplicates (docs/scaling.md)', async () => {
  const inboxes = [createMemoryInbox(), createMemoryInbox(), createMemoryInbox()]
  const inbox: Inbox = {
    put: async (delivery) =>
      inboxes[Number.parseInt(delivery.id.slice(0, 8), 16) % inboxes.length]?.put(delivery),
  }
  const handled: string[] = []
  const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', (_, { id }) => handled.push(id))
  const payloads = Array.from({ length: 300 }, () => uniquePayload())
  for (const status of [202, 200])
    for (const payload of payloads) expect((await deliver(receiver, payload)).status).toBe(status)
  for (const shard of inboxes) expect((await shard.stats()).waiting).toBeGreaterThan(50)
  for (const shard of inboxes) shard.work(receiver)
  await until(() => handled.length >= 300)
  expect(new Set(handled).size).toBe(300)
  await Promise.all(inboxes.map((shard) => shard.close()))
})
