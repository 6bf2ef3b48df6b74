import { createReceiver } from 'geohook'
import { describe, expect, it } from 'vitest'
import { deliver, KEY } from '../../helpers/deliver.ts'
import type { InboxEngineKind } from './engine.ts'
import { uniquePayload, until, useEngine } from './fixture.ts'

/** In which order, how many, for how long, and until when. */
export function describeBounds(kind: InboxEngineKind): void {
  describe('keeps to', () => {
    const { open, send, work } = useEngine(kind)

    /** Each received at a time of its own. */
    async function sendInTurn(inbox: ReturnType<typeof open>, count: number): Promise<string[]> {
      const ids: string[] = []
      for (let i = 0; i < count; i++) {
        ids.push((await send(inbox)).id)
        const sent = Date.now()
        await until(() => Date.now() > sent)
      }
      return ids
    }

    it('the order of reception, when it begins them', async () => {
      const inbox = open()
      const ids = await sendInTurn(inbox, 8)
      const begun: string[] = []
      work(inbox, (_, { id }) => begun.push(id), { concurrency: 1 })
      await until(async () => (await inbox.stats()).done === 8)
      expect(begun).toEqual(ids)
    })

    it('the order of reception, when it lists those that wait', async () => {
      const inbox = open()
      const ids = await sendInTurn(inbox, 8)
      const { entries } = await inbox.list({ state: 'waiting' })
      expect(entries.map(({ id }) => id)).toEqual(ids)
      const first = await inbox.get(ids[0] ?? '')
      expect((await inbox.stats()).oldest).toEqual(first?.receivedAt)
      expect(first?.receivedAt).toBeInstanceOf(Date)
    })

    it('what it has when it is full: that is a duplicate, and not refused', async () => {
      const inbox = open({ maxPending: 1 })
      const receiver = createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } })
      const payload = uniquePayload()
      expect((await deliver(receiver, payload)).status).toBe(202)
      expect((await deliver(receiver, uniquePayload())).status).toBe(503)
      const again = await deliver(receiver, payload)
      expect([again.status, again.body]).toEqual([200, { status: 'duplicate' }])
    })

    it('deadRetention: dead letters go after it, and what is done before', async () => {
      const inbox = open({ retention: 200, deadRetention: 2_000, attempts: 1 })
      await send(inbox, 'Bad')
      await send(inbox, 'Good')
      let ended = 0
      work(inbox, (event) => {
        ended = Date.now()
        if (event.changeType === 'Bad') throw new Error('bad')
      })
      await until(async () => (await inbox.stats()).dead === 1)
      await until(async () => (await inbox.stats()).done === 0)
      expect((await inbox.stats()).dead).toBe(1)
      await until(async () => (await inbox.stats()).dead === 0)
      expect(Date.now() - ended).toBeGreaterThanOrEqual(1_900)
      expect(await inbox.list()).toEqual({ entries: [] })
    })

    it('its end: then it does not begin to work', async () => {
      const inbox = open()
      await inbox.close()
      expect(() => work(inbox, () => {})).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    })
  })
}
