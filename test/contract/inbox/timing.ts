import { describe, expect } from 'vitest'
import { createGate } from '../../helpers/gate.ts'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, until, work } from './fixture.ts'

/** Tests timeouts, concurrency and closing. */
export function describeTiming(kind: InboxEngineKind): void {
  describe('workers', () => {
    const it = testInbox(kind)

    it('aborts the signal of an attempt at its timeout, and fails the attempt even if the handler ignores the signal', async ({
      open,
    }) => {
      const inbox = open({ timeout: 200, attempts: 1 })
      const { gate, release } = createGate()
      const reasons: unknown[] = []
      const signals: AbortSignal[] = []
      const ignoring = await send(inbox, 'Ignoring')
      const obeying = await send(inbox, 'Obeying')
      work(
        inbox,
        async (event, _, { signal }) => {
          signals.push(signal)
          if (event.changeType === 'Ignoring') return gate
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        },
        { concurrency: 1 },
      )
      await until(async () => (await inbox.stats()).dead === 2)
      for (const { id } of [ignoring, obeying]) reasons.push((await inbox.get(id))?.error)
      for (const reason of reasons) expect(reason).toContain('TimeoutError')
      expect(signals.map(({ aborted, reason }) => [aborted, reason.name])).toEqual(
        Array(2).fill([true, 'TimeoutError']),
      )
      release()
    })

    it('runs at most `concurrency` handlers at a time', async ({ open }) => {
      const inbox = open()
      for (let i = 0; i < 12; i++) await send(inbox)
      let running = 0
      let max = 0
      const { gate, release } = createGate()
      work(
        inbox,
        async () => {
          max = Math.max(max, ++running)
          if (running === 3) release()
          await gate
          await new Promise((resolve) => setTimeout(resolve, 20))
          running--
        },
        { concurrency: 3 },
      )
      await until(async () => (await inbox.stats()).done === 12)
      expect(max).toBe(3)
    })

    it('close() waits for attempts in progress, and takes no more deliveries', async ({ open }) => {
      const inbox = open()
      const { gate, release } = createGate()
      const handled: string[] = []
      const first = await send(inbox)
      const workers = work(
        inbox,
        async (_, { id }) => {
          await gate
          handled.push(id)
        },
        { concurrency: 1 },
      )
      await until(async () => (await inbox.get(first.id))?.state === 'active')
      const second = await send(inbox)
      const closing = workers.close()
      let isClosed = false
      void closing.then(() => {
        isClosed = true
      })
      expect((await inbox.get(first.id))?.state).toBe('active')
      expect(isClosed).toBe(false)
      release()
      await closing
      expect(handled).toEqual([first.id])
      expect([(await inbox.get(first.id))?.state, (await inbox.get(second.id))?.state]).toEqual([
        'done',
        'waiting',
      ])
    })
  })
}
