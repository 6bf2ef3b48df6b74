import { createPostgresDuplicates, createPostgresInbox } from 'geohook/postgres'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createPrivatePostgres, findPostgres, type PrivatePostgres } from '../../helpers/private-postgres.ts'
import { deliveryWithId } from '../deliveries.ts'
import { type Load, startLoad } from '../http-load.ts'

const programs = findPostgres()

if (programs === undefined && process.env.CI !== 'true')
  process.stderr.write(
    'SKIPPED: no program of PostgreSQL. Install the server, or put its folder into PATH.\n',
  )

describe.skipIf(programs === undefined && process.env.CI !== 'true')(
  'PostgreSQL that goes away',
  { timeout: 120_000 },
  () => {
    let server: PrivatePostgres
    let troubles: unknown[] = []
    let number = 0
    beforeAll(async () => {
      if (programs === undefined) throw new Error('no program of PostgreSQL: install the server')
      server = await createPrivatePostgres(programs)
    }, 60_000)
    afterAll(() => server?.remove())
    beforeEach(() => {
      troubles = []
    })
    const open = () =>
      createPostgresInbox({
        connectionString: server.url,
        schema: `faults_${number++}`,
        lease: 10_000, // what was taken just when the server went is tried again after it
        observer: { trouble: ({ error }) => troubles.push(error) },
      })

    /** Runs a load through something that happens to the server. */
    async function through(happens: (load: Load) => Promise<void>): Promise<Load> {
      const load = await startLoad(open())
      try {
        await until(() => load.handled.size > 50)
        await happens(load)
        const before = load.answers.length
        await until(() => load.answers.slice(before).filter(({ status }) => status === 202).length > 50)
        await load.end()
        await drained(load)
      } finally {
        await load.close()
      }
      return load
    }

    /**
     * Waits until all that was taken is handled. How long that takes is the machine's affair, but it goes on: what was
     * taken just when the server went is free a lease and a third after it.
     */
    async function drained(load: Load): Promise<void> {
      while (load.handled.size < load.taken.size) {
        const before = load.handled.size
        await until(() => load.handled.size > before, 40_000)
      }
    }

    function expectNothingLost({ answers, taken, handled }: Load): void {
      expect([...taken].filter((body) => !handled.has(body))).toEqual([])
      expect(answers.filter(({ status }) => ![200, 202, 503].includes(status))).toEqual([])
      const refused = answers.filter(({ status }) => status === 503)
      expect(refused.length).toBeGreaterThan(0)
      expect(refused.every(({ retryAfter }) => Number(retryAfter) > 0)).toBe(true)
      expect(Math.max(...answers.map(({ milliseconds }) => milliseconds))).toBeLessThan(8_000)
    }

    it('is not there at first, and then is', async () => {
      const load = await startLoad(open())
      try {
        await until(() => load.answers.length > 20)
        expect(new Set(load.answers.map(({ status }) => status))).toEqual(new Set([503]))
        await server.start()
        await until(() => load.handled.size > 50)
        await load.end()
        await drained(load)
        expectNothingLost(load)
        expect(troubles.length).toBeGreaterThan(0)
        // What failed before has left nothing open.
        expect(await countConnections(server.url)).toBeLessThanOrEqual(10)
      } finally {
        await load.close()
      }
      await until(async () => (await countConnections(server.url)) === 0)
    })

    it('crashes under load and comes back: 503, and nothing is lost', async () => {
      const load = await through(async ({ answers }) => {
        await server.crash()
        await until(() => answers.filter(({ status }) => status === 503).length > 50)
        await server.start()
      })
      expectNothingLost(load)
      expect(troubles.length).toBeGreaterThan(0)
    })

    it('hangs under load and goes on: an answer in time, and nothing is lost', async () => {
      const load = await through(async ({ answers }) => {
        server.hang()
        try {
          await until(() => answers.filter(({ status }) => status === 503).length > 10)
        } finally {
          server.goOn()
        }
      })
      expectNothingLost(load)
    })

    // Here, because nobody else is on this server: in each test run the schema has the same name.
    it.each(['user', 'order', 'ALL', 'select', 'public'])('has a schema called %s', async (schema) => {
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
    })

    it('duplicates: an error in time, and claims again afterwards', async () => {
      const store = createPostgresDuplicates({ connectionString: server.url })
      const [first, second] = ['ab'.repeat(16), 'cd'.repeat(16)]
      expect(await store.claim(first)).toBe('claimed')
      server.hang()
      const began = performance.now()
      await expect(store.claim(second)).rejects.toThrow()
      expect(performance.now() - began).toBeLessThan(8_000)
      server.goOn()
      await until(async () => (await store.claim(first).catch(() => '')) === 'busy')
      await server.crash()
      await expect(store.claim(second)).rejects.toThrow()
      await server.start()
      await until(async () => (await store.claim(first).catch(() => '')) === 'busy')
      await store.close()
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
