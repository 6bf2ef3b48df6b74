import { createRedisDuplicates } from 'geohook/redis'
import { describe, expect, it } from 'vitest'
import { uniquePayload, until } from '../../contract/inbox/fixture.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { usePrefix } from './fixture.ts'

await describeWith(REDIS, (url) => {
  const { client, prefixOfTest, open, send, receiverWith } = usePrefix(url)

  describe('an inbox in Redis', () => {
    it('stores at most maxPending deliveries for concurrent puts, and more when deliveries are done', async () => {
      const inbox = open({ maxPending: 10 })
      const answers = await Promise.all(Array.from({ length: 300 }, () => send(inbox)))
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(10)
      expect(answers.filter(({ status }) => status === 503)).toHaveLength(290)
      expect(await inbox.stats()).toMatchObject({ waiting: 10 })
      inbox.work(receiverWith(() => {}))
      await until(async () => (await inbox.stats()).done === 10)
      // A full inbox caches its count of pending deliveries for 0.1 s.
      await until(async () => (await send(inbox)).status === 202)
    })

    it('recognizes a duplicate while it is full', async () => {
      const inbox = open({ maxPending: 1 })
      const payload = uniquePayload()
      expect((await send(inbox, payload)).status).toBe(202)
      expect((await send(inbox)).status).toBe(503)
      expect((await send(inbox, payload)).status).toBe(200)
    })

    it('stats() reports the delivery received first as the oldest, even if it is delayed', async () => {
      const inbox = open({ attempts: 2, retryDelay: 60_000 })
      await send(inbox)
      const [first] = (await inbox.list()).entries
      const workers = inbox.work(
        receiverWith(() => {
          throw new Error('not now')
        }),
      )
      await until(async () => (await inbox.list()).entries[0]?.error !== undefined)
      await workers.close()
      for (let later = 0; later < 2; later++) {
        await until(() => Date.now() > Number(first?.receivedAt))
        await send(inbox)
      }
      expect(await inbox.stats()).toMatchObject({ waiting: 3, oldest: first?.receivedAt })
      await inbox.discard(first?.id ?? '')
      const [second, third] = (await inbox.list()).entries
      expect(Number(second?.receivedAt)).toBeLessThanOrEqual(Number(third?.receivedAt))
      expect((await inbox.stats()).oldest).toEqual(second?.receivedAt)
    })

    it.each(['null', '{}', '{', '{"head":"null"}'])(
      'moves unreadable data to the dead letters immediately, and lists the other jobs: %s',
      async (data) => {
        const troubles: unknown[] = []
        const inbox = open({
          lease: 1_000,
          observer: { trouble: ({ error }) => troubles.push(error), dead() {}, failed() {} },
        })
        const payload = uniquePayload()
        await send(inbox, payload)
        const [first] = (await inbox.list()).entries
        await send(inbox)
        const id = first?.id ?? ''
        await client.hset(`${prefixOfTest()}:inbox:delivery-${id}`, 'data', data)
        expect((await inbox.list()).entries).toContainEqual(first)
        expect((await inbox.stats()).waiting).toBe(2)
        await expect(inbox.get(id)).rejects.toThrow('the stored delivery cannot be read')
        inbox.work(receiverWith(() => {}))
        await until(async () => (await inbox.stats()).done + (await inbox.stats()).dead === 2)
        const { entries } = await inbox.list({ state: 'dead' })
        expect(entries).toMatchObject([{ id, attempts: 1, error: expect.stringContaining('cannot be read') }])
        expect(String(troubles[0])).toContain('cannot be read')
        expect(await inbox.discard(id)).toBe(true)
        expect((await send(inbox, payload)).status).toBe(202)
      },
    )

    it('lists entries without reading their bodies', async () => {
      const inbox = open()
      const data = new Blob([new Uint8Array(5 * 1_024 * 1_024)])
      for (let number = 0; number < 3; number++) await send(inbox)
      const ids = (await inbox.list()).entries.map(({ id }) => id)
      for (const id of ids)
        await client.hset(`${prefixOfTest()}:inbox:delivery-${id}`, 'data', await data.text())
      // Other tests use the same server at the same time.
      await until(async () => {
        const before = await sent()
        await inbox.list()
        return (await sent()) - before < 1_024 * 1_024
      })

      async function sent(): Promise<number> {
        return Number(/total_net_output_bytes:(\d+)/.exec(await client.info('stats'))?.[1])
      }
    })

    it('rejects calls after close()', async () => {
      const inbox = open()
      await inbox.stats()
      await inbox.close()
      await expect(inbox.stats()).rejects.toThrow('the connection to Redis was closed')
    })

    it('work() throws after close()', async () => {
      const inbox = open()
      await inbox.close()
      expect(() => inbox.work(receiverWith(() => {}))).toThrow(
        expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining('closed') }),
      )
    })

    it('rejects a database that does not exist, and stores nothing in another database', async () => {
      const inbox = open({ url: new URL('/999999', url).href })
      expect((await send(inbox)).status).toBe(503)
      await expect(inbox.stats()).rejects.toThrow('DB index is out of range')
      inbox.work(receiverWith(() => {}))
      expect(await client.keys(`${prefixOfTest()}*`)).toEqual([])
      const duplicates = createRedisDuplicates({ url: new URL('/999999', url).href, prefix: prefixOfTest() })
      await expect(duplicates.claim('ab'.repeat(16))).rejects.toThrow('DB index is out of range')
      await duplicates.close()
      expect(await client.keys(`${prefixOfTest()}*`)).toEqual([])
    })
  })
})
