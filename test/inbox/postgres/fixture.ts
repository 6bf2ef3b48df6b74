import type { DurableInbox, InboxObserver } from 'geohook/inbox'
import { createPostgresInbox, type PostgresInboxOptions } from 'geohook/postgres'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { createTables } from '../../helpers/boss-tables.ts'

/** Provides a schema for one test file, a queue for each test, a SQL client and pg-boss. */
export function useSchema(connectionString: string, name: string) {
  const schema = `geohook_${name}_${process.pid}_${Date.now()}`
  const client = new pg.Client({ connectionString })
  let closing: { close(): Promise<void> }[] = []
  let number = 0
  let queue = ''
  beforeAll(async () => {
    await client.connect()
    await createTables(connectionString, schema)
  })
  afterEach(async () => {
    await Promise.all(closing.map((store) => store.close()))
    closing = []
    queue = ''
  })
  afterAll(async () => {
    await client.query(`drop schema if exists ${schema} cascade`)
    await client.end()
  })
  const queueName = () => {
    queue ||= `queue-${number++}`
    return queue
  }

  return {
    schema,
    client,
    queueName,
    /** Opens an inbox on the queue of the test. Each call opens a new inbox, as another process would. */
    open(options?: Partial<PostgresInboxOptions>): DurableInbox {
      const observer: InboxObserver = { failed() {}, dead() {}, trouble() {} }
      const location = { connectionString, schema, queue: queueName() }
      const inbox = createPostgresInbox({
        ...location,
        retryDelay: 50,
        maxRetryDelay: 200,
        observer,
        ...options,
      })
      closing.push(inbox)
      return inbox
    },
    /** Calls a function with a separate pg-boss instance, like the one an operator would use. */
    async withBoss<T>(work: (boss: PgBoss, queue: string) => Promise<T>): Promise<T> {
      const boss = new PgBoss({ connectionString, schema, supervise: false, schedule: false })
      boss.on('error', () => {})
      await boss.start()
      try {
        return await work(boss, queueName())
      } finally {
        await boss.stop({ graceful: false })
      }
    },
  }
}
