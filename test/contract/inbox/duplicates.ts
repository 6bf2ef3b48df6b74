import { createReceiver } from 'geohook'
import { describe, expect } from 'vitest'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import type { DuplicatesEngineKind } from './engine.ts'
import { testWith, uniquePayload, until } from './fixture.ts'

/** The contract of a duplicate store. Every engine must pass it. */
export function describeDuplicates(kind: DuplicatesEngineKind): void {
  describe(`duplicates in ${kind.name}`, { concurrent: true, timeout: 40_000 }, () => {
    const it = testWith(kind)
    const id = 'ab'.repeat(16)

    it('returns claimed, then busy, then done', async ({ open }) => {
      const store = open()
      expect(await store.claim(id)).toBe('claimed')
      expect(await store.claim(id)).toBe('busy')
      await store.done(id)
      expect(await store.claim(id)).toBe('done')
      expect(await store.claim('cd'.repeat(16))).toBe('claimed')
    })

    it('can be claimed again after a release', async ({ open }) => {
      const store = open()
      await store.claim(id)
      await store.release(id)
      expect(await store.claim(id)).toBe('claimed')
    })

    it('ignores a release after done', async ({ open }) => {
      const store = open()
      await store.claim(id)
      await store.done(id)
      await store.release(id)
      expect(await store.claim(id)).toBe('done')
    })

    it('gives the delivery to exactly one of many concurrent claims', async ({ open }) => {
      const store = open()
      const claims = await Promise.all(Array.from({ length: 50 }, () => store.claim(id)))
      expect(claims.filter((claim) => claim === 'claimed').length).toBe(1)
      expect(claims.filter((claim) => claim === 'busy').length).toBe(49)
    })

    it('forgets a done delivery after its retention', async ({ open }) => {
      const store = open({ retention: 2_000 })
      await store.claim(id)
      await store.done(id)
      expect(await store.claim(id)).toBe('done')
      await until(async () => (await store.claim(id)) === 'claimed')
    })

    it.for<[string, number]>([
      ['lease', 999],
      ['lease', 2 ** 31],
      ['retention', 0],
    ])('rejects a %s of %d', ([name, value], { open }) => {
      expect(() => open({ [name]: value })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    })

    it('runs the handler once for two concurrent requests, and again for the retry of a failure', async ({
      open,
    }) => {
      const { gate, release } = createGate()
      let runs = 0
      const receiver = createReceiver({
        signatureKey: KEY,
        duplicates: open(),
        observer: { failed() {} },
      }).on('*', async () => {
        runs++
        await gate
        if (runs === 1) throw new Error('once')
      })
      const payload = uniquePayload()
      const first = deliver(receiver, payload)
      await until(() => runs === 1)
      const second = await deliver(receiver, payload)
      expect([second.status, second.headers.get('retry-after')]).toEqual([409, '5'])
      release()
      expect((await first).status).toBe(500)
      expect((await deliver(receiver, payload)).status).toBe(200)
      const last = await deliver(receiver, payload)
      expect([last.status, last.body, runs]).toEqual([200, { status: 'duplicate' }, 2])
    })

    if (kind.isShared) {
      it('shares claims among processes', async ({ open }) => {
        const [first, second] = [open(), open()]
        expect(await first.claim(id)).toBe('claimed')
        expect(await second.claim(id)).toBe('busy')
        await second.release(id) // has no effect, because another process owns the claim
        expect(await second.claim(id)).toBe('busy')
        await first.done(id)
        expect(await second.claim(id)).toBe('done')
      })

      it('renews a claim as long as its process is alive', async ({ open }) => {
        const [store, other] = [open({ lease: 3_000 }), open({ lease: 3_000 })]
        await other.claim('cd'.repeat(16)) // connects
        expect(await store.claim(id)).toBe('claimed')
        const end = Date.now() + 4_500
        do {
          await new Promise((resolve) => setTimeout(resolve, 100))
          expect(await other.claim(id)).toBe('busy')
        } while (Date.now() < end)
      })

      it('lets the claims of a dead process expire after their lease', async ({ open }) => {
        const [first, second] = [open({ lease: 3_000 }), open({ lease: 3_000 })]
        await second.claim('cd'.repeat(16)) // connects
        expect(await first.claim(id)).toBe('claimed')
        await first.close() // keeps the claims, as if the process had exited
        expect(await second.claim(id)).toBe('busy')
        await until(async () => (await second.claim(id)) === 'claimed')
      })
    }
  })
}
