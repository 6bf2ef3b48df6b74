import type { DurableInbox } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import type { InboxEngineKind } from './engine.ts'
import { useEngine } from './fixture.ts'

const HANDLER = { handle: async () => {}, handleTogether: async () => [] }

/** Tests the validation of options. */
export function describeValidation(kind: InboxEngineKind): void {
  describe('validation', () => {
    const { open } = useEngine(kind)

    it.each<[string, (inbox: DurableInbox) => unknown]>([
      ['a limit of 0', (inbox) => inbox.list({ limit: 0 })],
      ['a limit of 1001', (inbox) => inbox.list({ limit: 1001 })],
      ['an unknown state', (inbox) => inbox.list({ state: 'gone' as 'done' })],
      ['an `after` that is not a string', (inbox) => inbox.list({ after: 7 as never })],
      ['an `after` that is not from a page', (inbox) => inbox.list({ after: 'x; --' })],
      ['a purge without options', (inbox) => inbox.purge(undefined as never)],
      ['a purge of waiting deliveries', (inbox) => inbox.purge({ state: 'waiting' as 'done' })],
      ['a negative olderThan', (inbox) => inbox.purge({ state: 'done', olderThan: -1 })],
      ['a concurrency of 0', async (inbox) => inbox.work({ handle: async () => {} }, { concurrency: 0 })],
      [
        'coalesce with a receiver without handleTogether',
        async (inbox) => inbox.work({ handle: async () => {} }, { coalesce: { by: 'service' } }),
      ],
      [
        'coalesce by something else',
        async (inbox) => inbox.work(HANDLER, { coalesce: { by: 'layer' as never } }),
      ],
      ['coalesce of true', async (inbox) => inbox.work(HANDLER, { coalesce: true as never })],
      ['coalesce of null', async (inbox) => inbox.work(HANDLER, { coalesce: null as never })],
      ['a wait of 0', async (inbox) => inbox.work(HANDLER, { coalesce: { by: 'service', wait: 0 } })],
      [
        'a wait of 60001',
        async (inbox) => inbox.work(HANDLER, { coalesce: { by: 'service', wait: 60_001 } }),
      ],
      ['a missing receiver', async (inbox) => inbox.work({} as never)],
    ])('rejects %s', async (_, call) => {
      const inbox = open()
      await expect((async () => call(inbox))()).rejects.toMatchObject({ code: 'config_invalid' })
    })

    it.each([
      'maxPending',
      'attempts',
      'retryDelay',
      'maxRetryDelay',
      'timeout',
      'lease',
      'retention',
      'deadRetention',
    ])('rejects %s of 0, 1.5, a string and NaN', (name) => {
      for (const value of [0, 1.5, '5', Number.NaN])
        expect(() => open({ [name]: value })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    })
  })
}
