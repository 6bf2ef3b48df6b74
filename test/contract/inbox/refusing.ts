import type { DurableInbox } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import type { InboxEngineKind } from './engine.ts'
import { useEngine } from './fixture.ts'

/** What an inbox does not take. */
export function describeRefusing(kind: InboxEngineKind): void {
  describe('checks what it is asked', () => {
    const { open } = useEngine(kind)

    it.each<[string, (inbox: DurableInbox) => unknown]>([
      ['a limit of 0', (inbox) => inbox.list({ limit: 0 })],
      ['a limit of 1001', (inbox) => inbox.list({ limit: 1001 })],
      ['an unknown state', (inbox) => inbox.list({ state: 'gone' as 'done' })],
      ['a page that is none', (inbox) => inbox.list({ after: 7 as never })],
      ['a page that is no place', (inbox) => inbox.list({ after: 'x; --' })],
      ['a purge of nothing', (inbox) => inbox.purge(undefined as never)],
      ['a purge of what waits', (inbox) => inbox.purge({ state: 'waiting' as 'done' })],
      ['a purge of the future', (inbox) => inbox.purge({ state: 'done', olderThan: -1 })],
      ['no concurrency', async (inbox) => inbox.work({ handle: async () => {} }, { concurrency: 0 })],
      ['nothing to work with', async (inbox) => inbox.work({} as never)],
    ])('refuses %s', async (_, call) => {
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
    ])('refuses %s of 0, a half, text', (name) => {
      for (const value of [0, 1.5, '5', Number.NaN])
        expect(() => open({ [name]: value })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    })
  })
}
