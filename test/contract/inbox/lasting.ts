import { describe, expect, it } from 'vitest'
import { createGate } from '../../helpers/gate.ts'
import type { InboxEngineKind } from './engine.ts'
import { until, useEngine } from './fixture.ts'

/** How long handlers may be at work, and how many. */
export function describeLasting(kind: InboxEngineKind): void {
  describe('works', () => {
    const { open, send, work } = useEngine(kind)

    it('ends an attempt at its time-out, through the signal, also where nobody heeds it', async () => {
      const inbox = open({ timeout: 200, attempts: 1 })
      const { gate, release } = createGate()
      const reasons: unknown[] = []
      const signals: AbortSignal[] = []
      const deaf = await send(inbox, 'Deaf')
      const heeding = await send(inbox, 'Heeding')
      work(
        inbox,
        async (event, _, { signal }) => {
          signals.push(signal)
          if (event.changeType === 'Deaf') return gate
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        },
        { concurrency: 1 },
      )
      await until(async () => (await inbox.stats()).dead === 2)
      for (const { id } of [deaf, heeding]) reasons.push((await inbox.get(id))?.error)
      for (const reason of reasons) expect(reason).toContain('TimeoutError')
      expect(signals.map(({ aborted, reason }) => [aborted, reason.name])).toEqual(
        Array(2).fill([true, 'TimeoutError']),
      )
      release()
    })

    it('no more at a time than it is told to', async () => {
      const inbox = open()
      for (let i = 0; i < 12; i++) await send(inbox)
      let atWork = 0
      let most = 0
      const { gate, release } = createGate()
      work(
        inbox,
        async () => {
          most = Math.max(most, ++atWork)
          if (atWork === 3) release()
          await gate
          await new Promise((resolve) => setTimeout(resolve, 20))
          atWork--
        },
        { concurrency: 3 },
      )
      await until(async () => (await inbox.stats()).done === 12)
      expect(most).toBe(3)
    })

    it('ends what is at work before it closes, and takes no more', async () => {
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
