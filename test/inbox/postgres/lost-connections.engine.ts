import { createPostgresDuplicates } from 'geohook/postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

await describeWith(POSTGRES, (connectionString) => {
  describe('the server ends idle connections', () => {
    const { schema, client, open } = useSchema(connectionString, 'lost')

    /** Ends at least one idle connection of these stores, and waits until none is left. */
    async function endConnections(): Promise<void> {
      let ended = 0
      await until(async () => {
        const { rows } = await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
          where pid <> pg_backend_pid() and state = 'idle' and query like '%${schema}%'`,
        )
        ended += rows.length
        return ended > 0 && rows.length === 0
      })
    }

    it('an inbox connects again', async () => {
      const inbox = open({ listen: false }) // a notification would be the last statement of the connection
      expect(await inbox.put(deliveryWithId(idOf(1)))).toBe('stored')
      await endConnections()
      await until(() =>
        inbox.put(deliveryWithId(idOf(1))).then(
          (result) => result === 'duplicate',
          () => false,
        ),
      )
    })

    it('a duplicate store connects again', async () => {
      const duplicates = createPostgresDuplicates({ connectionString, schema })
      onTestFinished(() => duplicates.close())
      expect(await duplicates.claim(idOf(2))).toBe('claimed')
      await endConnections()
      await until(() =>
        duplicates.claim(idOf(3)).then(
          (result) => result === 'claimed',
          () => false,
        ),
      )
    })
  })
})
