import type { TestProject } from 'vitest/node'
import { whyNoBetterSqlite, whyNoSqlite } from './drivers.ts'
import { findNginx } from './nginx.ts'
import { findPgBouncer } from './pgbouncer.ts'
import { findRedis } from './private-redis.ts'
import { NATS, POSTGRES, RABBITMQ, REDIS, whyMissing } from './servers.ts'

/** External programs and drivers that tests need. */
export type Need =
  | 'PostgreSQL'
  | 'Redis'
  | 'RabbitMQ'
  | 'NATS'
  | 'redis-server'
  | 'SQLite'
  | 'nginx'
  | 'pgbouncer'

declare module 'vitest' {
  interface ProvidedContext {
    /** Why each missing requirement is unavailable. Available requirements have no entry. */
    missing: Partial<Record<Need, string>>
  }
}

/** What the tests of each project need besides SQLite. */
const NEEDS: Record<string, Need[]> = {
  engines: ['PostgreSQL', 'Redis', 'RabbitMQ', 'NATS', 'redis-server', 'pgbouncer'],
  package: ['PostgreSQL'],
  long: ['PostgreSQL', 'RabbitMQ', 'redis-server', 'nginx'],
}

/** Returns why a program, server or driver is unavailable, or `undefined`. */
const CHECKS: Record<Need, () => string | undefined | Promise<string | undefined>> = {
  PostgreSQL: () => whyMissing(POSTGRES, POSTGRES.url),
  Redis: () => whyMissing(REDIS, REDIS.url),
  RabbitMQ: () => whyMissing(RABBITMQ, RABBITMQ.url),
  NATS: () => whyMissing(NATS, NATS.url),
  'redis-server': () => whyNoProgram('redis-server', findRedis()),
  nginx: () => whyNoProgram('nginx', findNginx()),
  pgbouncer: () => whyNoProgram('pgbouncer', findPgBouncer()),
  SQLite: () => whyNoSqlite,
}

const whyNoProgram = (name: string, path: string | undefined): string | undefined =>
  path ? undefined : `no ${name}. Install it, or put its folder into PATH.`

/**
 * Checks the requirements of a project before its tests. Prints why any are missing; the tests that need them are
 * skipped. With `CI=true`, these tests fail instead.
 */
export async function setup({ name, provide }: TestProject): Promise<void> {
  const missing: Partial<Record<Need, string>> = {}
  for (const need of ['SQLite', ...(NEEDS[name] ?? [])] as const) {
    const why = await CHECKS[need]()
    if (why !== undefined) missing[need] = why
  }
  provide('missing', missing)
  const skipped = process.env.CI === 'true' ? [] : Object.values(missing)
  if (whyNoBetterSqlite) skipped.push(whyNoBetterSqlite)
  for (const why of skipped) process.stderr.write(`SKIPPED: ${why}\n`)
}
