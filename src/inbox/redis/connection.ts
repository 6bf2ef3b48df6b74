import type { Redis } from 'ioredis'
import { toDatabase } from './options.ts'
import { loadIoredis } from './packages.ts'

/** Milliseconds until Redis counts as unreachable: a sender waits for the answer. */
export const PATIENCE = 3_000

/** Milliseconds until a connection to the same server is tried again, at most. */
const RECONNECT = 500

/** Milliseconds that a server gets to end a connection too: one where a worker waits for jobs is slow, and keeps the process. */
export const HANG_UP = 50

/** A connection that is opened at its first use, fails fast, and comes back by itself. */
export interface Connection<Opened> {
  /**
   * Does something over the connection.
   *
   * @throws where Redis cannot be reached, or refuses; without the command, which may hold a password or a body
   */
  run<Result>(work: (opened: Opened) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** What a connection needs. */
export interface ConnectionOptions<Opened> {
  url: string
  /** What has to be done with a connection before its first use. */
  open(client: Redis): Promise<Opened>
  /** Is told what happens to the connection while nobody uses it. */
  onError(error: Error): void
}

export function createConnection<Opened>(options: ConnectionOptions<Opened>): Connection<Opened> {
  const { url, open, onError } = options
  let opening: Promise<{ client: Redis; opened: Opened }> | undefined
  let closing: Promise<void> | undefined
  /** Why the connection is not there: what a command hears is only that it is not. */
  let lastError: Error | undefined

  async function connect(): Promise<{ client: Redis; opened: Opened }> {
    const { Redis } = await loadIoredis()
    const client = new Redis(url, {
      lazyConnect: true,
      connectTimeout: PATIENCE,
      commandTimeout: PATIENCE,
      // One that says nothing is given up, so that a dead route does not last as long as TCP would have it.
      socketTimeout: PATIENCE,
      disconnectTimeout: HANG_UP,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(times * 50, RECONNECT),
    })
    client.on('ready', () => {
      lastError = undefined
    })
    client.on('error', (error) => {
      lastError = toPlain(error)
      onError(lastError)
    })
    try {
      await client.connect()
      // ioredis only reports where the server does not have it, and goes on in database 0.
      await client.select(Number(toDatabase(url)))
      return { client, opened: await open(client) }
    } catch (error) {
      client.disconnect()
      throw lastError ?? error
    }
  }

  /** What could not be opened is opened anew the next time. */
  function use(): Promise<{ client: Redis; opened: Opened }> {
    opening ??= connect().catch((error) => {
      opening = undefined
      throw error
    })
    return opening
  }

  async function hangUp(): Promise<void> {
    const { client } = (await opening?.catch(() => undefined)) ?? {}
    await client?.quit().catch(() => client.disconnect())
  }

  return {
    async run(work) {
      if (closing) throw new Error('the connection to Redis was closed')
      try {
        const { client, opened } = await use()
        if (client.status !== 'ready') throw new Error('Redis cannot be reached', { cause: lastError })
        return await work(opened)
      } catch (error) {
        throw toPlain(error)
      }
    },
    close() {
      closing ??= hangUp()
      return closing
    },
  }
}

/** An error without the command that it came from: an observer may print it with all that it holds. */
export function toPlain(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('Redis failed', { cause: error })
  if (!('command' in error || 'previousErrors' in error)) return error
  const plain = new Error(error.message)
  plain.name = error.name
  return plain
}
