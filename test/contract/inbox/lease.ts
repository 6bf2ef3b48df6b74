import type { HandlerContext } from 'geohook'
import { describe, expect } from 'vitest'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, until, work } from './fixture.ts'

/** Tests a handler that takes longer than the lease. This is slow for engines with a long minimum lease. */
export function describeLease(kind: InboxEngineKind): void {
  describe(`an inbox in ${kind.name}`, () => {
    const it = testInbox(kind)

    it('keeps a delivery whose handler takes longer than the lease', { timeout: 90_000 }, async ({
      open,
    }) => {
      const lease = Math.max(kind.minLease, 3_000) // a busy machine may fail to renew a shorter one in time
      const inbox = open({ lease, timeout: 20 * lease })
      const { id } = await send(inbox)
      const attempts: number[] = []
      const handler = async (_: unknown, __: unknown, { attempt }: HandlerContext) => {
        attempts.push(attempt)
        await new Promise((resolve) => setTimeout(resolve, 2.5 * lease))
      }
      work(inbox, handler)
      if (kind.isShared) work(open({ lease, timeout: 20 * lease }), handler)
      await until(async () => (await inbox.get(id))?.state === 'done', 80_000)
      expect(attempts).toEqual([1])
    })
  })
}
