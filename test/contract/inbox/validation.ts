import type { DurableInbox } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { groupHandler } from '../../helpers/receiver-port.ts'
import type { InboxEngineKind } from './engine.ts'
import { testInbox } from './fixture.ts'

const HANDLER = groupHandler(async () => [])

/** Tests the validation of options. */
export function describeValidation(kind: InboxEngineKind): void {
  describe('validation', () => {
    const it = testInbox(kind)

    it.for<[string, (inbox: DurableInbox) => unknown, string]>([
      ['a limit of 0', (inbox) => inbox.list({ limit: 0 }), 'limit must be a whole number from 1 to 1000'],
      [
        'a limit of 1001',
        (inbox) => inbox.list({ limit: 1001 }),
        'limit must be a whole number from 1 to 1000',
      ],
      [
        'an unknown state',
        (inbox) => inbox.list({ state: 'gone' as 'done' }),
        'state must be one of waiting, active, done, dead',
      ],
      [
        'an `after` that is not a string',
        (inbox) => inbox.list({ after: 7 as never }),
        'after must be the next of a page',
      ],
      [
        'an `after` that is not from a page',
        (inbox) => inbox.list({ after: 'x; --' }),
        'after must be the next of a page',
      ],
      [
        'a purge without options',
        (inbox) => inbox.purge(undefined as never),
        'state must be one of done, dead',
      ],
      [
        'a purge of waiting deliveries',
        (inbox) => inbox.purge({ state: 'waiting' as 'done' }),
        'state must be one of done, dead',
      ],
      [
        'a negative olderThan',
        (inbox) => inbox.purge({ state: 'done', olderThan: -1 }),
        'olderThan must be a whole number',
      ],
      [
        'a retry of done deliveries',
        (inbox) => inbox.retry({ state: 'done' as 'dead' }),
        'state must be one of dead, unhandled',
      ],
      [
        'a rerun of dead letters',
        (inbox) => inbox.rerun({ state: 'dead' as 'done' }),
        'state must be one of done',
      ],
      ['a rerun of nothing', (inbox) => inbox.rerun(undefined as never), 'state must be one of done'],
      ['an empty error', (inbox) => inbox.retry({ state: 'dead', error: '' }), 'error is empty'],
      ['an empty service', (inbox) => inbox.list({ service: '' }), 'service is empty'],
      [
        'a changeType that is not a string',
        (inbox) => inbox.purge({ state: 'dead', changeType: 7 as never }),
        'changeType must be a string',
      ],
      [
        'an unknown condition',
        (inbox) => inbox.retry({ state: 'dead', errors: 'x' } as never),
        'unknown option errors: did you mean error?',
      ],
      [
        'an age without a state that ends',
        (inbox) => inbox.list({ state: 'waiting', newerThan: 1 }),
        'newerThan requires a state',
      ],
      [
        'a concurrency of 0',
        async (inbox) => inbox.work({ handle: async () => {} }, { concurrency: 0 }),
        'concurrency must be a whole number',
      ],
      [
        'coalesce with a receiver that cannot handle deliveries together',
        async (inbox) => inbox.work({ handle: async () => {} }, { coalesce: { by: 'service' } }),
        'coalesce needs the receiver of createReceiver()',
      ],
      [
        'coalesce by something else',
        async (inbox) => inbox.work(HANDLER, { coalesce: { by: 'layer' as never } }),
        "coalesce.by must be 'service'",
      ],
      [
        'coalesce of true',
        async (inbox) => inbox.work(HANDLER, { coalesce: true as never }),
        'options must be an object',
      ],
      [
        'coalesce of null',
        async (inbox) => inbox.work(HANDLER, { coalesce: null as never }),
        'coalesce must be an object',
      ],
      [
        'a wait of 0',
        async (inbox) => inbox.work(HANDLER, { coalesce: { by: 'service', wait: 0 } }),
        'coalesce.wait must be a whole number',
      ],
      [
        'a wait of 60001',
        async (inbox) => inbox.work(HANDLER, { coalesce: { by: 'service', wait: 60_001 } }),
        'coalesce.wait must be a whole number',
      ],
      [
        'order with coalesce',
        async (inbox) => inbox.work(HANDLER, { coalesce: { by: 'service' }, order: { by: 'service' } }),
        'give either coalesce or order, not both',
      ],
      [
        'order by something else',
        async (inbox) => inbox.work(HANDLER, { order: { by: 'tenant' as never } }),
        "order.by must be 'service'",
      ],
      [
        'order of null',
        async (inbox) => inbox.work(HANDLER, { order: null as never }),
        'order must be an object',
      ],
      [
        'a hold of 0',
        async (inbox) => inbox.work(HANDLER, { order: { by: 'service', hold: 0 } }),
        'order.hold must be a whole number from 1 to 2147483647',
      ],
      ['a missing receiver', async (inbox) => inbox.work({} as never), 'work() needs a receiver'],
      ['no receiver', async (inbox) => inbox.work(undefined as never), 'work() needs a receiver'],
    ])('rejects %s', async ([_, call, message], { open }) => {
      const inbox = open()
      await expect((async () => call(inbox))()).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining(message),
      })
    })

    it.for([
      'maxPending',
      'attempts',
      'retryDelay',
      'maxRetryDelay',
      'timeout',
      'lease',
      'retention',
      'deadRetention',
    ])('rejects %s of 0, 1.5, a string and NaN', (name, { open }) => {
      for (const value of [0, 1.5, '5', Number.NaN])
        expect(() => open({ [name]: value })).toThrow(
          expect.objectContaining({
            code: 'config_invalid',
            message: expect.stringContaining(`${name} must be a whole number`),
          }),
        )
    })
  })
}
