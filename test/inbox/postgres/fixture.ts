import {
  createPostgresInbox,
  type DurableInbox,
  type InboxObserver,
  type PostgresInboxOptions,
} from 'geohook/postgres'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { afterAll, afterEach, beforeAll } from 'vitest'

/** A delivery as a receiver gives it to an inbox. */
export const deliveryOf = (id: string) => ({
  id,
  rawBody: new Uint8Array([123, 125]),
  contentType: 'application/json',
  headers: {},
  receivedAt: new Date(),
  profile: 'service',
  payload: {},
  events: [],
  changeTypes: ['FeaturesCreated'],
})

/** An id that begins with this digit. */
export const idOf = (digit: number | string): string => `${digit}`.repeat(32)

/** A schema of its own, in which each test has a queue of its own, with what an operator has at hand. */
export function useSchema(connectionString: string, name: string) {
  const schema = `geohook_${name}_${process.pid}_${Date.now()}`
  const client = new pg.Client({ connectionString })
  let closing: { close(): Promise<void> }[] = []
  let number = 0
  let queue = ''
  beforeAll(() => client.connect())
  afterEach(async () => {
    await Promise.all(closing.map((one) => one.close()))
    closing = []
    queue = ''
  })
  afterAll(async () => {
    await client.query(`drop schema if exists ${schema} cascade`)
    await client.end()
  })
  const queueNow = () => {
    queue ||= `queue-${number++}`
    return queue
  }

  return {
    schema,
    client,
    queueNow,
    /** An inbox over the queue of the test; called again, another over the same, as another process would have it. */
    open(options?: Partial<PostgresInboxOptions>): DurableInbox {
      const observer: InboxObserver = { failed() {}, dead() {}, trouble() {} }
      const place = { connectionString, schema, queue: queueNow() }
      const inbox = createPostgresInbox({
        ...place,
        retryDelay: 50,
        maxRetryDelay: 200,
        observer,
        ...options,
      })
      closing.push(inbox)
      return inbox
    },
    /** What an operator does with pg-boss itself. */
    async operate<T>(work: (boss: PgBoss, queue: string) => Promise<T>): Promise<T> {
      const boss = new PgBoss({ connectionString, schema, supervise: false, schedule: false })
      boss.on('error', () => {})
      await boss.start()
      try {
        return await work(boss, queueNow())
      } finally {
        await boss.stop({ graceful: false })
      }
    },
  }
}
