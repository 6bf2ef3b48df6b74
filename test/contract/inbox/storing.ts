import { createReceiver, verify } from 'geohook'
import type { AttemptEnded, OpenInbox, PutEnded } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { deliver, KEY, signatureOf } from '../../helpers/deliver.ts'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, uniquePayload, until, work } from './fixture.ts'

/** Tests storing, listing and reading deliveries. */
export function describeStoring(kind: InboxEngineKind): void {
  describe('storage', () => {
    const it = testInbox(kind)

    it('recognizes a duplicate of a delivery in every state', async ({ open }) => {
      const inbox = open({ attempts: 1 })
      const receiver = createReceiver({ signatureKey: KEY, inbox })
      const [good, bad] = [uniquePayload('Good'), uniquePayload('Bad')]
      const sendBoth = async () => [
        (await deliver(receiver, good)).status,
        (await deliver(receiver, bad)).status,
      ]
      expect(await sendBoth()).toEqual([202, 202])
      expect(await sendBoth()).toEqual([200, 200])
      const workers = work(inbox, (event) => {
        if (event.changeType === 'Bad') throw new Error('bad')
      })
      await until(async () => {
        const { done, dead } = await inbox.stats()
        return done + dead === 2
      })
      await workers.close()
      expect(await inbox.stats()).toMatchObject({ waiting: 0, active: 0, done: 1, dead: 1 })
      expect(await sendBoth()).toEqual([200, 200])
    })

    it('keeps the exact bytes and headers, so that the signature can be verified again', async ({ open }) => {
      const inbox = open()
      const pad = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('base64')
      const body = Buffer.from(
        `\ufeff{"pad":"${pad}","text":"caf\u00e9 \ud83d\ude00 \\u0000 \\ud800","n":1.0}\r\n`,
      )
      const receiver = createReceiver({ signatureKey: KEY, inbox })
      expect((await deliver(receiver, new Uint8Array(body), { 'x-other': 'caf\u00e9' })).status).toBe(202)
      const [entry] = (await inbox.list()).entries
      const item = await inbox.get(entry?.id ?? '')
      expect(Buffer.from(item?.delivery.rawBody ?? []).equals(body)).toBe(true)
      expect(item?.delivery).toMatchObject({
        id: entry?.id,
        contentType: 'application/json',
        profile: 'service',
        keyIndex: 0,
      })
      expect(item?.delivery.headers).toMatchObject({ 'x-service': signatureOf(body), 'x-other': 'caf\u00e9' })
      const verdict = await verify({
        body: item?.delivery.rawBody ?? '',
        signature: String(item?.delivery.headers['x-service']),
        signatureKey: KEY,
      })
      expect(verdict).toEqual({ ok: true, keyIndex: 0 })
    })

    it('keeps the tenants of two deliveries with the same bytes', async ({ open }) => {
      const inbox = open()
      const tenants = ['__proto__', 'caf\u00e9 \ud83d\ude00\u2028"']
      const body = uniquePayload()
      for (const tenant of tenants) {
        const receiver = createReceiver({ signatureKey: () => ({ keys: KEY, tenant }), inbox })
        expect((await deliver(receiver, body)).status).toBe(202)
      }
      const { entries } = await inbox.list()
      const items = await Promise.all(entries.map(({ id }) => inbox.get(id)))
      expect(items.map((item) => item?.delivery.tenant).sort()).toEqual(tenants)
      const handled: (string | undefined)[] = []
      work(inbox, (_, { tenant }) => void handled.push(tenant))
      await until(() => handled.length === 2)
      expect(handled.sort()).toEqual(tenants)
    })

    it('keeps bytes that are not UTF-8, and any header and change type', async ({ open }) => {
      const inbox = open()
      // A receiver would reject this body, so the test calls put() itself. An inbox does not parse bodies.
      const rawBody = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256)
      const delivery = {
        id: 'ab'.repeat(16),
        rawBody,
        contentType: 'application/json',
        headers: { 'set-of': ['a', 'b'], quote: `'"\\` },
        receivedAt: new Date(1730385704123),
        profile: 'service',
        payload: {},
        events: [],
        changeTypes: ["it's", '__proto__', '\0 \ud800'],
      }
      expect(await inbox.put(delivery)).toBe('stored')
      const item = await inbox.get(delivery.id)
      expect(item).toMatchObject({
        id: delivery.id,
        state: 'waiting',
        attempts: 0,
        size: 70_000,
        changeTypes: ["it's", '__proto__', '\0 \ud800'],
        receivedAt: delivery.receivedAt,
      })
      expect(item?.delivery.headers).toEqual(delivery.headers)
      expect(item?.delivery.receivedAt).toEqual(delivery.receivedAt)
      expect(Buffer.from(item?.delivery.rawBody ?? []).equals(rawBody)).toBe(true)
    })

    it('stores at most maxPending deliveries, and returns 503 until some are done', async ({ open }) => {
      const inbox = open({ maxPending: 3 })
      const answers = []
      for (let i = 0; i < 4; i++) answers.push((await send(inbox)).status)
      expect(answers).toEqual([202, 202, 202, 503])
      expect(await inbox.stats()).toMatchObject({ waiting: 3, maxPending: 3 })
      work(inbox, () => {})
      await until(async () => (await inbox.stats()).done === 3)
      await until(async () => (await send(inbox)).status === 202)
    })

    it('tells its observer when it opens, stores, refuses and closes', async ({ open }) => {
      const opened: OpenInbox[] = []
      const closed: OpenInbox[] = []
      const puts: PutEnded[] = []
      const inbox = open({
        maxPending: 1,
        observer: {
          opened: (inbox) => opened.push(inbox),
          closed: (inbox) => closed.push(inbox),
          put: (event) => puts.push(event),
        },
      })
      const receiver = createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } })
      const [first, second] = [uniquePayload(), uniquePayload()]
      for (const body of [first, first, second]) await deliver(receiver, body)
      expect(puts).toEqual(
        ['stored', 'duplicate', 'failed'].map((result) => ({ result, milliseconds: expect.any(Number) })),
      )
      expect(opened.length).toBe(1)
      expect(await opened[0]?.stats()).toEqual(await inbox.stats())
      await inbox.close()
      await inbox.close()
      expect(closed.length).toBe(1)
      expect(closed[0]).toBe(opened[0])
    })

    it('lists entries by page and by state', async ({ open }) => {
      const inbox = open({ attempts: 1 })
      const ids: string[] = []
      for (let i = 0; i < 5; i++) ids.push((await send(inbox, `Type${i}`)).id)
      const seen: string[] = []
      let after: string | undefined
      let pages = 0
      do {
        const page = await inbox.list({ limit: 2, after })
        seen.push(...page.entries.map(({ id }) => id))
        after = page.next
        pages++
      } while (after !== undefined)
      expect([...seen].sort()).toEqual([...ids].sort())
      expect(pages).toBe(3)
      expect((await inbox.list({ state: 'dead' })).entries).toEqual([])
      const { entries } = await inbox.list({ state: 'waiting' })
      expect(entries.length).toBe(5)
      const third = entries.find(({ id }) => id === ids[2])
      expect(third).toMatchObject({ id: ids[2], state: 'waiting', attempts: 0, changeTypes: ['Type2'] })
      expect(third?.receivedAt).toBeInstanceOf(Date)
    })

    it('returns undefined, false and empty lists for unknown ids', async ({ open }) => {
      const inbox = open()
      const id = 'cd'.repeat(16)
      for (const unknown of [id, 'no id', '', "'; --", '\0'])
        expect([await inbox.get(unknown), await inbox.retry(unknown), await inbox.discard(unknown)]).toEqual([
          undefined,
          false,
          false,
        ])
      expect(await inbox.stats()).toEqual({
        waiting: 0,
        active: 0,
        done: 0,
        dead: 0,
        unhandled: 0,
        maxPending: 100_000,
        paused: false,
      })
      expect(await inbox.list()).toEqual({ entries: [] })
      expect(await inbox.purge({ state: 'dead' })).toBe(0)
    })

    it('stores a delivery again after its retention', async ({ open }) => {
      const ended: string[] = []
      const observer = { handled: ({ delivery }: AttemptEnded) => ended.push(delivery.id) }
      const inbox = open({ retention: 3_000, observer })
      const receiver = createReceiver({ signatureKey: KEY, inbox })
      const payload = uniquePayload()
      expect((await deliver(receiver, payload)).status).toBe(202)
      work(inbox, () => {})
      await until(() => ended.length === 1)
      expect((await deliver(receiver, payload)).status).toBe(200)
      await until(async () => (await inbox.stats()).done === 0)
      expect((await deliver(receiver, payload)).status).toBe(202)
    })

    it('keeps dead letters longer than done deliveries', async ({ open }) => {
      const handled: string[] = []
      const observer = { handled: ({ delivery }: AttemptEnded) => handled.push(delivery.id), dead() {} }
      const inbox = open({ retention: 200, attempts: 1, observer })
      await send(inbox, 'Bad')
      await send(inbox, 'Good')
      work(inbox, (event) => {
        if (event.changeType === 'Bad') throw new Error('bad')
      })
      await until(async () => handled.length === 1 && (await inbox.stats()).dead === 1)
      await until(async () => (await inbox.stats()).done === 0)
      expect((await inbox.stats()).dead).toBe(1)
      expect(await inbox.purge({ state: 'dead', olderThan: 60_000 })).toBe(0)
      expect(await inbox.purge({ state: 'dead' })).toBe(1)
      expect((await inbox.stats()).dead).toBe(0)
    })

    it('is ready before the first delivery, and not after it is closed', async ({ open }) => {
      const inbox = open()
      await inbox.ready()
      await inbox.ready()
      expect((await send(inbox)).status).toBe(202)
      await inbox.close()
      await expect(inbox.ready()).rejects.toThrow('closed')
    })

    it('stores nothing after it is closed', async ({ open }) => {
      const inbox = open()
      await inbox.close()
      await inbox.close()
      expect((await send(inbox)).status).toBe(503)
    })

    if (kind.isShared) {
      it('keeps deliveries after it is closed', async ({ open }) => {
        const first = open()
        const { id } = await send(first)
        await first.close()
        const second = open()
        expect((await second.get(id))?.state).toBe('waiting')
        const handled: string[] = []
        work(second, (_, delivery) => handled.push(delivery.id))
        await until(() => handled.length > 0)
        expect(handled).toEqual([id])
      })
    }
  })
}
