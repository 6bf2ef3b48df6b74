import { randomUUID } from 'node:crypto'
import { createRedisDuplicates } from 'geohook/redis'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { removePrefix } from '../../helpers/redis-keys.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { idOf } from '../deliveries.ts'

await describeWith(REDIS, (url) => {
  function open(options: { lease?: number } = {}) {
    const prefix = `geohook-test-${randomUUID()}`
    const connection = new Redis(url)
    const store = createRedisDuplicates({ connection, prefix, ...options })
    onTestFinished(async () => {
      await store.close()
      connection.disconnect()
      await removePrefix(url, prefix)
    })
    return { store, connection, prefix, keyOf: (id: string) => `${prefix}:duplicates:${id}` }
  }

  describe('duplicates in Redis', () => {
    it('renews its expired claim, unless another process has taken it', async () => {
      const { store, connection, prefix, keyOf } = open({ lease: 1_000 })
      const other = createRedisDuplicates({ connection, prefix })
      onTestFinished(() => other.close())
      const [ours, theirs] = [idOf('a'), idOf('b')]
      await store.claim(ours)
      await store.claim(theirs)
      // Simulate a blocked event loop: both claims have expired, and another process has taken one of them.
      await connection.multi().del(keyOf(ours)).set(keyOf(theirs), 'another').exec()
      await until(async () => (await connection.exists(keyOf(ours))) === 1)
      expect(await other.claim(ours)).toBe('busy')
      expect(await connection.get(keyOf(theirs))).toBe('another')
    })

    it('stores one key for each delivery, which expires', async () => {
      const { store, connection, prefix, keyOf } = open()
      const id = idOf('a')
      await store.claim(id)
      expect(await connection.keys(`${prefix}*`)).toEqual([keyOf(id)])
      expect(await connection.pttl(keyOf(id))).toSatisfy((left: number) => left > 0 && left <= 30_000)
      await store.done(id)
      expect(await connection.keys(`${prefix}*`)).toEqual([keyOf(id)])
      expect(await connection.pttl(keyOf(id))).toSatisfy((left: number) => left > 0 && left <= 86_400_000)
    })

    it('accepts the longest retention', async () => {
      const { connection, prefix, keyOf } = open()
      const store = createRedisDuplicates({ connection, prefix, retention: Number.MAX_SAFE_INTEGER })
      const id = idOf('a')
      await store.claim(id)
      await store.done(id)
      expect(await store.claim(id)).toBe('done')
      expect(await connection.exists(keyOf(id))).toBe(1)
      await store.close()
    })

    it('leaves the connection open when the store is closed', async () => {
      const { store, connection } = open()
      await store.claim(idOf('a'))
      await Promise.all([store.close(), store.close()])
      expect(connection.status).toBe('ready')
      expect(await connection.ping()).toBe('PONG')
    })

    it('rejects with the error of the client', async () => {
      const { store, connection, keyOf } = open()
      await connection.lpush(keyOf(idOf('a')), 'not a claim')
      await expect(store.claim(idOf('a'))).rejects.toThrow('WRONGTYPE')
    })
  })
})
