import type { DurableInbox, InboxObserver } from 'geohook/inbox'
import { createPostgresInbox, type PostgresInboxOptions } from 'geohook/postgres'
import pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'

/** Provides a schema for one test file, a queue for each test, and a SQL client. */
export function useSchema(connectionString: string, name: string) {
  const schema = `geohook_${name}_${process.pid}_${Date.now()}`
  const client = new pg.Client({ connectionString })
  let closing: { close(): Promise<void> }[] = []
  let number = 0
  let queue = ''
  beforeAll(() => client.connect())
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
      const location = options?.pool ? { schema } : { connectionString, schema }
      const inbox = createPostgresInbox({
        ...location,
        queue: queueName(),
        retryDelay: 50,
        maxRetryDelay: 200,
        observer,
        ...options,
      })
      closing.push(inbox)
      return inbox
    },
    /** Lets the leases of active deliveries expire, as if their process had ended. */
    async expire(...ids: string[]): Promise<void> {
      await client.query(
        `update ${schema}.inbox_task t set due = now() - interval '1 second' from ${schema}.inbox_delivery d
        where d.seq = t.seq and d.queue = $1 and d.id = any($2) and t.state = 1`,
        [queueName(), ids],
      )
    },
  }
}
