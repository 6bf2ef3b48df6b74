import { Redis } from 'ioredis'
import pg from 'pg'
import { describe, it } from 'vitest'

/** A server that tests need, and that is not theirs. */
interface Service {
  name: string
  url: string
  variable: string
  howToStart: string
  /** Rejects where it cannot be reached. */
  reach(url: string): Promise<void>
}

export const POSTGRES: Service = {
  name: 'PostgreSQL',
  url: process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres',
  variable: 'DATABASE_URL',
  howToStart: 'docker run -p 5432:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres',
  async reach(connectionString) {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 3_000 })
    try {
      await client.connect()
      await client.query('select 1')
    } finally {
      await client.end().catch(() => {})
    }
  },
}

export const REDIS: Service = {
  name: 'Redis',
  url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
  variable: 'REDIS_URL',
  howToStart: 'redis-server --appendonly yes',
  async reach(url) {
    const client = new Redis(url, { lazyConnect: true, connectTimeout: 3_000, retryStrategy: () => null })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.ping()
    } finally {
      client.disconnect()
    }
  },
}

/**
 * Tests that need a server. Where it cannot be reached they fail with `CI=true`; elsewhere they are skipped, and one
 * line says how to start it.
 */
export async function describeWith(service: Service, suite: (url: string) => void): Promise<void> {
  const { name, url, variable, howToStart, reach } = service
  const unreachable = await reach(url).then(
    () => undefined,
    (error: Error) => error,
  )
  if (!unreachable) return suite(url)
  if (process.env.CI === 'true') {
    it(`reaches ${name}`, () => {
      throw new Error(`${name} cannot be reached, see ${variable}`, { cause: unreachable })
    })
    return
  }
  process.stderr.write(`SKIPPED: no ${name}. Start one (${howToStart}) or set ${variable}.\n`)
  describe.skip(`with ${name}`, () => {
    it(`needs ${name}`, () => {})
  })
}
