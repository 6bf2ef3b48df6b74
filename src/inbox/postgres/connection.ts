import type { ConstructorOptions, PgBoss } from 'pg-boss'
import { configInvalid } from '../../errors.ts'
import { preload } from '../driver.ts'
import type { InboxConfig } from '../inbox-options.ts'
import { loadBoss } from './packages.ts'
import { isMissing } from './sqlstates.ts'
import { CONNECT_TIMEOUT, STATEMENT_TIMEOUT, withTimeout } from './timeout.ts'

/**
 * A connection to pg-boss. It starts pg-boss on first use, and creates the tables and the queue if they are missing.
 * After a failed start, or if the tables or the queue disappear, the next call starts pg-boss again.
 */
export interface BossConnection {
  /** Runs a function without an additional timeout. */
  run<T>(work: (boss: PgBoss) => Promise<T>): Promise<T>
  /** Runs a function, and rejects if it has not finished within `CALL_TIMEOUT`. */
  runInTime<T>(work: (boss: PgBoss) => Promise<T>): Promise<T>
  /** Stops a pg-boss instance, so that the next call starts a new one. */
  discard(boss: PgBoss): void
  close(): Promise<void>
}

/** The connection, schema and queue in which an inbox stores its jobs. */
export interface JobsLocation {
  connection: BossConnection
  schema: string
  queue: string
}

export function createBossConnection(
  { connectionString, schema, queue }: { connectionString: string; schema: string; queue: string },
  { lease, notify }: Pick<InboxConfig, 'lease' | 'notify'>,
): BossConnection {
  const packages = preload(loadBoss)
  let starting: Promise<PgBoss> | undefined
  let running: PgBoss | undefined
  let stopping: Promise<unknown> = Promise.resolve()
  let closed = false

  async function start(): Promise<PgBoss> {
    const { PgBoss, getConstructionPlans } = await packages()
    // The interval is short, so that pg-boss finds deliveries soon after their lease has expired.
    const monitorSeconds = Math.min(60, Math.ceil(lease / 3_000))
    const options: ConstructorOptions & { query_timeout: number } = {
      connectionString,
      schema,
      application_name: 'geohook',
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      query_timeout: STATEMENT_TIMEOUT, // pg-boss passes options that it does not know to pg
      schedule: false,
      superviseIntervalSeconds: monitorSeconds,
      monitorIntervalSeconds: monitorSeconds,
    }
    const boss = new PgBoss(options)
    boss.on('error', (error) => notify('trouble', { error }))
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

  /**
   * Throws if a newer version of pg-boss created the tables. pg-boss itself upgrades older tables, but uses newer ones
   * without a warning.
   */
  function requireSupported(found: number | null, plans: string): void {
    // `plans` is the SQL that creates the tables. It also inserts their version.
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
    // With any other policy, pg-boss drops jobs without an error.
    if (policy !== 'standard')
      throw configInvalid(
        `the queue ${queue} of pg-boss has the policy ${policy}`,
        'Give the inbox a queue of its own. It creates the queue itself.',
      )
  }

  function ensureStarted(): Promise<PgBoss> {
    if (closed) return Promise.reject(new Error('the inbox is closed'))
    starting ??= start().catch((error) => {
      starting = undefined
      throw error
    })
    return starting
  }

  function discard(boss: PgBoss): void {
    if (boss !== running) return
    running = undefined
    starting = undefined
    stopping = boss.stop({ graceful: false }).catch(() => {})
  }

  async function run<T>(work: (boss: PgBoss) => Promise<T>): Promise<T> {
    const boss = await ensureStarted()
    try {
      return await work(boss)
    } catch (error) {
      if (isQueueMissing(error)) discard(boss)
      throw error
    }
  }

  const isQueueMissing = (error: unknown): boolean => {
    const { message } = error as { message?: unknown }
    return isMissing(error) || message === `Queue ${queue} does not exist` // pg-boss's message
  }

  return {
    run,
    runInTime: (work) => withTimeout(run(work)),
    discard,
    async close() {
      closed = true
      const stoppingLast = starting?.then((boss) => boss.stop({ graceful: false }))
      // The inbox must close even if the server is unreachable.
      await withTimeout(Promise.all([stoppingLast, stopping])).catch(() => {})
    },
  }
}
