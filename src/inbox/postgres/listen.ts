import type { Database } from './database.ts'
import type { PostgresPool } from './options.ts'

/** Milliseconds within which the notification of the trial must arrive. */
const TRIAL_TIMEOUT = 1_000

/** Milliseconds until a connection that was lost is replaced. */
const RETRY_DELAY = 5_000

/** Minimum milliseconds between two notifications of a process: their commits wait for one lock of the database. */
const NOTIFY_INTERVAL = 50

/** The part of a client of `pg` that listens. */
interface Client {
  query(text: string): Promise<unknown>
  release(destroy: boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'notification', listener: (message: { payload?: string }) => void): unknown
}

/** Tells other processes at once that deliveries were stored. Without it, they see them at their next poll. */
export interface Notifier {
  notify(): void
  /** Calls `wake` whenever another process has notified. Uses a connection until it is closed. */
  watch(wake: () => void): { close(): void }
}

/** @param channel name of the channel: letters, digits, `_`, `-`, `.` and `:` */
export function createNotifier({ open, query }: Database, channel: string): Notifier {
  const id = crypto.randomUUID()
  let notifiedAt = -Infinity
  let timer: ReturnType<typeof setTimeout> | undefined

  function send(payload: string): Promise<unknown> {
    return query('select pg_notify($1, $2)', [channel, payload])
  }

  function watch(wake: () => void): { close(): void } {
    let client: Client | undefined
    let closed = false
    let retry: ReturnType<typeof setTimeout> | undefined
    /** Gives the place among the listening connections of the pool back. */
    let leave = (): void => {}

    function disconnect(): void {
      leave()
      leave = () => {}
      client?.release(true)
      client = undefined
    }

    async function listen(): Promise<void> {
      const pool = await open()
      const listening = listeners.get(pool) ?? 0
      // Half of the connections of a pool are for statements.
      if (closed || listening + 1 > maxOf(pool) / 2) return
      listeners.set(pool, listening + 1)
      leave = () => listeners.set(pool, (listeners.get(pool) ?? 1) - 1)
      const connected = (await pool.connect()) as Client
      client = connected
      connected.on('error', () => {
        if (client === connected) startAgain()
      })
      const trial = crypto.randomUUID()
      let isHeard = false
      connected.on('notification', ({ payload = '' }) => {
        if (payload === trial) isHeard = true
        else if (!payload.startsWith(id) && !closed) wake()
      })
      await connected.query(`listen "${channel}"`)
      await send(trial)
      // PgBouncer accepts LISTEN and never delivers: the connection is given back.
      setTimeout(() => {
        if (!isHeard && client === connected) disconnect()
      }, TRIAL_TIMEOUT).unref()
      if (closed) disconnect()
    }

    /** Reports no error, because the workers poll anyway. */
    function startAgain(): void {
      disconnect()
      if (!closed) retry = setTimeout(start, RETRY_DELAY).unref()
    }

    const start = (): void => void listen().catch(startAgain)

    start()
    return {
      close() {
        closed = true
        clearTimeout(retry)
        disconnect()
      },
    }
  }

  function notifyNow(): void {
    timer = undefined
    notifiedAt = performance.now()
    send(id).catch(() => {}) // the others poll
  }

  return {
    notify() {
      if (timer) return
      const wait = notifiedAt + NOTIFY_INTERVAL - performance.now()
      if (wait <= 0) notifyNow()
      else timer = setTimeout(notifyNow, wait)
    },
    watch,
  }
}

/** The maximum number of connections of a pool. The default of `pg` is 10. */
const maxOf = (pool: PostgresPool): number => (pool as { options?: { max?: number } }).options?.max ?? 10

/** Number of connections that listen, by pool. */
const listeners = new WeakMap<PostgresPool, number>()
