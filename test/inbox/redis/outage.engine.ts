import { inspect } from 'node:util'
import type { DeliveryHandler } from 'geohook/inbox'
import { createRedisDuplicates } from 'geohook/redis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createGate } from '../../helpers/gate.ts'
import { groupHandler } from '../../helpers/receiver-port.ts'
import { describeWith } from '../../helpers/services.ts'
import { editOf, idOf } from '../deliveries.ts'
import { REDIS_SERVER, usePrivateRedis } from './private-server.ts'

type CallError = Error & { code?: string; cause?: { code?: string } }

/** The error that a promise rejects with, or undefined if it resolves. */
const errorOf = (promise: Promise<unknown>): Promise<CallError | undefined> =>
  promise.then(
    () => undefined,
    (error) => error,
  )

/** Creates a receiver whose handlers get the sizes of groups. */
const gathering = (handle: (size: number) => Promise<void>): DeliveryHandler =>
  groupHandler(
    async (deliveries) => {
      await handle(deliveries.length)
      return deliveries.map(() => 'handled' as const)
    },
    () => handle(1),
  )

await describeWith(REDIS_SERVER, () => {
  describe('an inbox whose Redis server is unreachable', () => {
    const fixture = usePrivateRedis()
    const { open } = fixture

    it('rejects calls with the code of the failed connection, and works as soon as the server runs', async () => {
      const inbox = open()
      expect(await errorOf(inbox.stats())).toMatchObject({ code: 'ECONNREFUSED' })
      await fixture.server.start()
      expect(await inbox.stats()).toMatchObject({ waiting: 0 })
    })

    it('reports the failure of an idle connection, and then rejects calls with it as the cause', async () => {
      await fixture.server.start()
      const inbox = open()
      await inbox.stats()
      await fixture.server.crash()
      await until(() => fixture.troubles.length > 0)
      expect(fixture.troubles[0]).toMatchObject({ code: 'ECONNREFUSED' })
      const error = await errorOf(inbox.stats())
      expect(error).toMatchObject({ message: 'Redis cannot be reached', cause: { code: 'ECONNREFUSED' } })
    })

    it('does not name an earlier failure as the cause after the server was reachable again', async () => {
      const { server } = fixture
      await server.start()
      const inbox = open()
      await inbox.stats()
      await server.crash()
      await until(() => fixture.troubles.length > 0)
      await server.start()
      await until(async () => (await errorOf(inbox.stats())) === undefined)
      let errors: (CallError | undefined)[] = []
      await until(async () => {
        // The server closes the connection. The first call may still fail because of that.
        await server.command('CLIENT', 'KILL', 'TYPE', 'normal')
        errors = [await errorOf(inbox.stats()), await errorOf(inbox.stats())]
        return errors[1]?.message === 'Redis cannot be reached'
      })
      // The cause is ECONNRESET if the server had not read everything, and missing otherwise.
      expect(errors[1]?.cause?.code).not.toBe('ECONNREFUSED')
    })

    it('records the success of a group as soon as the server runs again, and does not repeat the group', async () => {
      const { server } = fixture
      await server.start()
      const inbox = open()
      const { gate, release } = createGate()
      const calls: number[] = []
      const receiver = gathering(async (size) => {
        calls.push(size)
        await gate
      })
      for (let number = 0; number < 2; number++) await inbox.put(editOf())
      inbox.work(receiver, { coalesce: { by: 'service', wait: 300 } })
      await until(() => calls.length === 1)
      await server.crash()
      release()
      await until(() => fixture.troubles.length > 0)
      await server.start()
      await until(async () => (await inbox.stats().catch(() => undefined))?.done === 2)
      expect(calls).toEqual([2])
    })
  })

  describe('an error of a Redis command', () => {
    const fixture = usePrivateRedis()

    it('has the message of Redis, but not the arguments of the command', async () => {
      const { server } = fixture
      await server.start()
      await server.command('ACL', 'SETUSER', 'plain', 'on', '>word', '~*', '&*', '+@all', '-eval', '-evalsha')
      const options = { url: server.url.replace(':s3cret-of-redis@', 'plain:word@'), prefix: 's3cret' }
      const inbox = fixture.open(options)
      const duplicates = createRedisDuplicates(options)
      onTestFinished(() => duplicates.close())
      const id = idOf(1)
      for (const call of [() => inbox.stats(), () => inbox.discard(id), () => duplicates.claim(id)]) {
        const error = await errorOf(call())
        expect(error).toMatchObject({ name: 'ReplyError', message: expect.stringContaining('NOPERM') })
        expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('s3cret')
      }
    })
  })
})
