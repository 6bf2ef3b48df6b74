import type { Redis } from 'ioredis'
import { preload } from '../driver.ts'
import { toDatabase } from './connection-options.ts'
import { loadIoredis } from './packages.ts'

/**
 * Milliseconds to wait for a reply before Redis counts as unreachable. The limit is short, because an HTTP client is
 * waiting for the response.
 */
export const CALL_TIMEOUT = 3_000

/** Maximum milliseconds between two attempts to reconnect. */
const MAX_RECONNECT_DELAY = 500

/**
 * Milliseconds to wait for the server to close a connection. The limit is short: Redis is slow to close the connection
 * of an idle worker, and an open connection keeps the process alive.
 */
export const DISCONNECT_TIMEOUT = 50

/** A connection that opens on first use and reconnects automatically. Calls fail fast while Redis is unreachable. */
export interface Connection<Opened> {
  /**
   * Runs a function over the connection.
   *
   * @throws if Redis is unreachable or returns an error. The error does not contain the command, which may include a
   *   password or a body
   */
  run<Result>(work: (opened: Opened) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** Options of {@link createConnection}. */
export interface ConnectionOptions<Opened> {
  url: string
  /** Loads other packages that the store needs. */
  loadMore?: () => Promise<unknown>
  /** Prepares a new connection. */
  open(client: Redis): Promise<Opened>
  /** Receives errors of the connection, even while it is idle. */
  onError(error: Error): void
}

export function createConnection<Opened>(options: ConnectionOptions<Opened>): Connection<Opened> {
  const { url, open, onError, loadMore = async () => {} } = options
  const packages = preload(async () => {
    const [ioredis] = await Promise.all([loadIoredis(), loadMore()])
    return ioredis
  })
  let opening: Promise<{ client: Redis; opened: Opened }> | undefined
  let closing: Promise<void> | undefined
  /** Why the connection failed: a command's own error says only that the client is not connected. */
  let lastError: Error | undefined

  async function connect(): Promise<{ client: Redis; opened: Opened }> {
    const { Redis } = await packages()
    const client = new Redis(url, {
      lazyConnect: true,
      connectTimeout: CALL_TIMEOUT,
      commandTimeout: CALL_TIMEOUT,
      // Closes a connection on which nothing arrives: TCP alone would detect a dead route much later.
      socketTimeout: CALL_TIMEOUT,
      disconnectTimeout: DISCONNECT_TIMEOUT,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(times * 50, MAX_RECONNECT_DELAY),
    })
    client.on('ready', () => {
      lastError = undefined
    })
    client.on('error', (error) => {
      lastError = withoutCommand(error)
      onError(lastError)
    })
    try {
      await client.connect()
      // Rejects if the database does not exist. ioredis alone would only emit an error and then use database 0.
      await client.select(Number(toDatabase(url)))
      return { client, opened: await open(client) }
    } catch (error) {
      client.disconnect()
      throw lastError ?? error
    }
  }

  /** Opens the connection. After a failure the next call tries again. */
  function ensureOpen(): Promise<{ client: Redis; opened: Opened }> {
    opening ??= connect().catch((error) => {
      opening = undefined
      throw error
    })
    return opening
  }

  async function disconnect(): Promise<void> {
    const { client } = (await opening?.catch(() => undefined)) ?? {}
    await client?.quit().catch(() => client.disconnect())
  }

  return {
    async run(work) {
      if (closing) throw new Error('the connection to Redis was closed')
      try {
        const { client, opened } = await ensureOpen()
        if (client.status !== 'ready') throw new Error('Redis cannot be reached', { cause: lastError })
        return await work(opened)
      } catch (error) {
        throw withoutCommand(error)
      }
    },
    close() {
      closing ??= disconnect()
      return closing
    },
  }
}

/**
 * Returns an ioredis error without its commands, because their arguments can contain deliveries, and an observer may
 * print all members of an error.
 */
export function withoutCommand(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('Redis failed', { cause: error })
  if (!('command' in error || 'previousErrors' in error)) return error
  const plain = new Error(error.message)
  plain.name = error.name
  return plain
}
