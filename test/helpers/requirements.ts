import type { TestProject } from 'vitest/node'
import { whyNoBetterSqlite, whyNoSqlite } from './drivers.ts'
import { findNginx } from './nginx.ts'
import { findRedis } from './private-redis.ts'
import { POSTGRES, REDIS, whyMissing } from './servers.ts'

/** External programs and drivers that tests need. */
export type Need = 'PostgreSQL' | 'Redis' | 'redis-server' | 'SQLite' | 'nginx'

declare module 'vitest' {
  interface ProvidedContext {
    /** Why each missing requirement is unavailable. Available requirements have no entry. */
    missing: Partial<Record<Need, string>>
  }
}

/**
 * Checks the requirements before all tests. Prints why any are missing; the tests that need them are skipped.
 * With `CI=true`, these tests fail instead.
 */
export async function setup({ name, provide }: TestProject): Promise<void> {
  const [postgres, redis] = await Promise.all(
    [POSTGRES, REDIS].map((server) => whyMissing(server, server.url)),
  )
  const missing: Partial<Record<Need, string>> = {
    ...(postgres && { PostgreSQL: postgres }),
    ...(redis && { Redis: redis }),
    ...(whyNoSqlite && { SQLite: whyNoSqlite }),
    ...(!findRedis() && { 'redis-server': 'no redis-server. Install it, or put its folder into PATH.' }),
    ...(name === 'long' && !findNginx() && { nginx: 'no nginx. Install it, or put its folder into PATH.' }),
  }
  provide('missing', missing)
  const skipped = process.env.CI === 'true' ? [] : Object.values(missing)
  if (whyNoBetterSqlite) skipped.push(whyNoBetterSqlite)
  for (const why of skipped) process.stderr.write(`SKIPPED: ${why}\n`)
}
