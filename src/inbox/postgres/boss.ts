import type { ConstructorOptions, PgBoss } from 'pg-boss'
import { configInvalid } from '../../errors.ts'
import type { InboxConfig } from '../options.ts'
import { bounded, CONNECT_WITHIN, GONE } from './bounded.ts'

/** Milliseconds that a statement may take. Without it a connection that is gone and does not say so is waited for. */
const STATEMENT_WITHIN = 30_000

/**
 * pg-boss, started when it is first needed, and again where that failed, or where the tables or the queue are gone:
 * the start makes them anew.
 */
export interface BossConnection {
  /** Waits as long as it takes. */
  run<T>(work: (boss: PgBoss) => Promise<T>): Promise<T>
  /** Rejects where the server does not answer in time. */
  use<T>(work: (boss: PgBoss) => Promise<T>): Promise<T>
  /** Stops this one, so that the next call starts another. */
  forget(boss: PgBoss): void
  close(): Promise<void>
}

/** Where the jobs of an inbox are. */
export interface JobsPlace {
  connection: BossConnection
  schema: string
  queue: string
}

export function createBossConnection(
  { connectionString, schema, queue }: { connectionString: string; schema: string; queue: string },
  { lease, tell }: Pick<InboxConfig, 'lease' | 'tell'>,
): BossConnection {
  let starting: Promise<PgBoss> | undefined
  let running: PgBoss | undefined
  let stopping: Promise<unknown> = Promise.resolve()
  let closed = false

  async function start(): Promise<PgBoss> {
    const { PgBoss, getConstructionPlans } = await loadBoss()
    // A delivery whose process says nothing any more is found as soon as its lease is over.
    const monitorSeconds = Math.min(60, Math.ceil(lease / 3_000))
    const options: ConstructorOptions & { query_timeout: number } = {
      connectionString,
      schema,
      application_name: 'geohook',
      connectionTimeoutMillis: CONNECT_WITHIN,
      query_timeout: STATEMENT_WITHIN, // pg-boss hands what it does not know to pg
      schedule: false,
      superviseIntervalSeconds: monitorSeconds,
      monitorIntervalSeconds: monitorSeconds,
    }
    const boss = new PgBoss(options)
    boss.on('error', (error) => tell('trouble', { error }))
    try {
      await boss.start()
      requireSupported(await boss.schemaVersion(), getConstructionPlans())
      await ensureQueue(boss)
      running = boss
      return boss
    } catch (error) {
      await boss.stop({ graceful: false }).catch(() => {})
      throw error
    }
  }

  /** pg-boss upgrades tables of an older version, but uses those of a newer one without a word. */
  function requireSupported(found: number | null, plans: string): void {
    // The plans end with the version of the tables that they make.
    const supported = Number(/version\(version\) VALUES \('(\d+)'\)/i.exec(plans)?.[1] ?? Infinity)
    if (found === null || found <= supported) return
    throw configInvalid(
      `the tables of pg-boss in the schema ${schema} have version ${found}, and this pg-boss supports at most ${supported}`,
      'Install the pg-boss that the other processes use, or give the inbox another schema.',
    )
  }

  async function ensureQueue(boss: PgBoss): Promise<void> {
    if (!(await boss.getQueue(queue))) await boss.createQueue(queue)
    const { policy = 'standard' } = (await boss.getQueue(queue)) ?? {}
    // By the others pg-boss drops jobs without a word.
    if (policy !== 'standard')
      throw configInvalid(
        `the queue ${queue} of pg-boss has the policy ${policy}`,
        'Give the inbox a queue of its own, which it makes itself.',
      )
  }

  function started(): Promise<PgBoss> {
    if (closed) return Promise.reject(new Error('the inbox is closed'))
    starting ??= start().catch((error) => {
      starting = undefined
      throw error
    })
    return starting
  }

  function forget(boss: PgBoss): void {
    if (boss !== running) return
    running = undefined
    starting = undefined
    stopping = boss.stop({ graceful: false }).catch(() => {})
  }

  async function run<T>(work: (boss: PgBoss) => Promise<T>): Promise<T> {
    const boss = await started()
    try {
      return await work(boss)
    } catch (error) {
      if (isGone(error)) forget(boss)
      throw error
    }
  }

  const isGone = (error: unknown): boolean => {
    const { code, message } = error as { code?: unknown; message?: unknown }
    return GONE.includes(code) || message === `Queue ${queue} does not exist` // as pg-boss says it
  }

  return {
    run,
    use: (work) => bounded(run(work)),
    forget,
    async close() {
      closed = true
      const last = starting?.then((boss) => boss.stop({ graceful: false }))
      // Where the server is away there is nobody to say goodbye to.
      await bounded(Promise.all([last, stopping])).catch(() => {})
    },
  }
}

async function loadBoss(): Promise<typeof import('pg-boss')> {
  try {
    return await import('pg-boss')
  } catch (cause) {
    throw new Error('an inbox in PostgreSQL needs the package pg-boss: npm install pg-boss', { cause })
  }
}
