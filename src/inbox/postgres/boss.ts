import type { ConstructorOptions, PgBoss } from 'pg-boss'
import type { InboxConfig } from '../options.ts'
import { bounded, CONNECT_WITHIN } from './bounded.ts'

/** Milliseconds that a statement may take. Without it a connection that is gone and does not say so is waited for. */
const STATEMENT_WITHIN = 30_000

/** pg-boss, started when it is first needed, and again where that failed. */
export interface BossConnection {
  /** It, when it has started. */
  started(): Promise<PgBoss>
  /** Rejects where the server does not answer in time. */
  use<T>(work: (boss: PgBoss) => Promise<T>): Promise<T>
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
  let closed = false

  async function start(): Promise<PgBoss> {
    const { PgBoss } = await loadBoss()
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
      if (!(await boss.getQueue(queue))) await boss.createQueue(queue)
      return boss
    } catch (error) {
      await boss.stop({ graceful: false }).catch(() => {})
      throw error
    }
  }

  function started(): Promise<PgBoss> {
    if (closed) return Promise.reject(new Error('the inbox is closed'))
    starting ??= start().catch((error) => {
      starting = undefined
      throw error
    })
    return starting
  }

  return {
    started,
    use: (work) => bounded(started().then(work)),
    async close() {
      closed = true
      const stopping = starting?.then((boss) => boss.stop({ graceful: false }))
      // Where the server is away there is nobody to say goodbye to.
      await bounded(Promise.resolve(stopping)).catch(() => {})
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
