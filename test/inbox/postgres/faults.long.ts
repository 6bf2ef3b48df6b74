import { createPostgresDuplicates, createPostgresInbox } from 'geohook/postgres'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createPrivatePostgres, findPostgres, type PrivatePostgres } from '../../helpers/private-postgres.ts'
import { deliveryWithId } from '../deliveries.ts'
import { startLoad } from '../http-load.ts'
import {
  countRejections,
  drain,
  expectClaimsSurviveOutages,
  expectNothingLost,
  runThrough,
} from '../outage.ts'

const programs = findPostgres()

if (programs === undefined && process.env.CI !== 'true')
  process.stderr.write(
    'SKIPPED: no program of PostgreSQL. Install the server, or put its folder into PATH.\n',
  )

describe.skipIf(programs === undefined && process.env.CI !== 'true')(
  'an inbox during an outage of PostgreSQL',
  () => {
    let server: PrivatePostgres
    let troubles: unknown[] = []
    let number = 0
    beforeAll(async () => {
      if (programs === undefined) throw new Error('no program of PostgreSQL: install the server')
      server = await createPrivatePostgres(programs)
    })
    afterAll(() => server?.remove())
    beforeEach(() => {
      troubles = []
    })
    const open = () =>
      createPostgresInbox({
        connectionString: server.url,
        schema: `faults_${number++}`,
        lease: 3_000, // short, so that deliveries taken just before an outage are soon due again
        observer: { trouble: ({ error }) => troubles.push(error) },
      })

    it('returns 503 until the server runs', async () => {
      const load = await startLoad(open())
      try {
        await until(() => load.responses.length > 20)
        expect(new Set(load.responses.map(({ status }) => status))).toEqual(new Set([503]))
        await server.start()
        await until(() => load.handled.size > 50)
        await load.end()
        await drain(load)
        expectNothingLost(load)
        expect(troubles.length).toBeGreaterThan(0)
        expect(await countConnections(server.url)).toBeLessThanOrEqual(10)
      } finally {
        await load.close()
      }
      await until(async () => (await countConnections(server.url)) === 0)
    })

    it('returns 503 and loses nothing when the server crashes under load', async () => {
      const load = await runThrough(open(), async (running) => {
        await server.crash()
        await until(() => countRejections(running) > 50)
        await server.start()
      })
      expectNothingLost(load)
      expect(troubles.length).toBeGreaterThan(0)
    })

    it('returns 503 and loses nothing while the server hangs under load', async () => {
      const load = await runThrough(open(), async (running) => {
        server.hang()
        try {
          await until(() => countRejections(running) > 10)
        } finally {
          server.resume()
        }
      })
      expectNothingLost(load)
    })

    // These tests use the private server, because schemas with these names could already exist on a shared server.
    it.each(['user', 'order', 'ALL', 'select', 'public'])(
      'an inbox works in a schema named %s',
      async (schema) => {
        const inbox = createPostgresInbox({ connectionString: server.url, schema })
        const store = createPostgresDuplicates({ connectionString: server.url, schema })
        try {
          const id = 'ab'.repeat(16)
          expect(await inbox.put(deliveryWithId(id))).toBe('stored')
          expect(await inbox.put(deliveryWithId(id))).toBe('duplicate')
          expect(await store.claim(id)).toBe('claimed')
          inbox.work({ handle: async () => {} })
          await until(async () => (await inbox.get(id))?.state === 'done')
          expect((await inbox.stats()).done).toBe(1)
          expect(await inbox.purge({ state: 'done' })).toBe(1)
          expect(await store.claim(id)).toBe('busy')
        } finally {
          await Promise.all([inbox.close(), store.close()])
        }
      },
    )

    it('the duplicate store rejects claims while the server hangs or is down, and accepts them afterwards', async () => {
      await server.start()
      await expectClaimsSurviveOutages(createPostgresDuplicates({ connectionString: server.url }), server)
    })
  },
)

async function countConnections(connectionString: string): Promise<number> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query(
    "select count(*) from pg_stat_activity where application_name = 'geohook'",
  )
  await client.end()
  return Number(rows[0].count)
}
