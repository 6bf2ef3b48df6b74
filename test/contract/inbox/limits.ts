import { createReceiver } from 'geohook'
import type { AttemptEnded, DurableInbox } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { deliver, KEY } from '../../helpers/deliver.ts'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, uniquePayload, until, work } from './fixture.ts'

/** Tests the order of deliveries, the limits and the retention. */
export function describeLimits(kind: InboxEngineKind): void {
  describe('limits', () => {
    const it = testInbox(kind)

    /** Sends deliveries with pauses, so that no two are received in the same millisecond. */
    async function sendInTurn(inbox: DurableInbox, count: number): Promise<string[]> {
      const ids: string[] = []
      for (let i = 0; i < count; i++) {
        ids.push((await send(inbox)).id)
        const sent = Date.now()
        await until(() => Date.now() > sent)
      }
      return ids
    }

    it('begins deliveries in the order of receipt', async ({ open }) => {
      const inbox = open()
      const ids = await sendInTurn(inbox, 8)
      const begun: string[] = []
      work(inbox, (_, { id }) => begun.push(id), { concurrency: 1 })
      await until(async () => (await inbox.stats()).done === 8)
      expect(begun).toEqual(ids)
    })

    it('lists waiting deliveries in the order of receipt', async ({ open }) => {
      const inbox = open()
      const ids = await sendInTurn(inbox, 8)
      const { entries } = await inbox.list({ state: 'waiting' })
      expect(entries.map(({ id }) => id)).toEqual(ids)
      const first = await inbox.get(ids[0] ?? '')
      expect((await inbox.stats()).oldest).toEqual(first?.receivedAt)
      expect(first?.receivedAt).toBeInstanceOf(Date)
    })

    it('recognizes a duplicate while the inbox is full', async ({ open }) => {
      const inbox = open({ maxPending: 1 })
      const receiver = createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } })
      const payload = uniquePayload()
      expect((await deliver(receiver, payload)).status).toBe(202)
      expect((await deliver(receiver, uniquePayload())).status).toBe(503)
      const again = await deliver(receiver, payload)
      expect([again.status, again.body]).toEqual([200, { status: 'duplicate' }])
    })

    it('removes done deliveries after retention, and dead letters after deadRetention', async ({ open }) => {
      const ended: string[] = []
      const note = ({ delivery }: AttemptEnded) => ended.push(delivery.id)
      const inbox = open({
        retention: 200,
        deadRetention: 6_000,
        attempts: 1,
        observer: { handled: note, dead: note },
      })
      await send(inbox, 'Bad')
      await send(inbox, 'Good')
      work(inbox, (event) => {
        if (event.changeType === 'Bad') throw new Error('bad')
      })
      await until(() => ended.length === 2)
      await until(async () => (await inbox.stats()).done === 0)
      expect((await inbox.stats()).dead).toBe(1)
      await until(async () => (await inbox.stats()).dead === 0)
      expect(await inbox.list()).toEqual({ entries: [] })
    })

    it('work() throws after close()', async ({ open }) => {
      const inbox = open()
      await inbox.close()
      expect(() => work(inbox, () => {})).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    })
  })
}
