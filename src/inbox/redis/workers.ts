import type { Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Receiver } from '../../receiver/api.ts'
import { backoff } from '../backoff.ts'
import type { Workers } from '../inbox.ts'
import type { InboxConfig } from '../options.ts'
import type { Envelope } from '../stored.ts'
import { type Attempts, createAttempts } from './attempts.ts'
import { type Connection, HANG_UP, toPlain } from './connection.ts'
import { createLeases } from './leases.ts'
import { loadBullmq, loadIoredis } from './packages.ts'
import type { OpenedQueue } from './queue.ts'
import { toTolerant } from './worker.ts'

/** Milliseconds after which Redis is tried again, at most. */
const AGAIN = 1_000

/** Milliseconds without an answer after which a connection is given up. BullMQ waits 10 s for a job, at most. */
const SILENCE = 20_000

/** Milliseconds that BullMQ gets, when all handlers have ended, to write that down and to hang up. */
const FAREWELL = 3_000

/** BullMQ does not count attempts that never ended as we do: it is not to give up before us. */
const STALLS = 1_000_000

/** What workers need. */
export interface RedisWorkersOptions {
  url: string
  prefix: string
  name: string
  run: Connection<OpenedQueue>['run']
  receiver: Pick<Receiver, 'handle'>
  concurrency: number
  config: InboxConfig
}

/** A BullMQ worker that runs handlers: it begins when Redis is there, and can be closed when Redis is not. */
export function startRedisWorkers(options: RedisWorkersOptions): Workers {
  const { url, prefix, name, run, receiver, concurrency, config } = options
  const { lease, tell } = config
  const onError = (error: unknown): void => tell('trouble', { error: toPlain(error) })
  const clients: Redis[] = []
  const stop = new AbortController()
  let closing: Promise<void> | undefined
  let isOver = false

  /** The connections of a worker wait for Redis as long as it takes. BullMQ makes its second one from the first. */
  async function connect(): Promise<Redis> {
    const { Redis } = await loadIoredis()
    const client = new Redis(url, {
      maxRetriesPerRequest: null,
      socketTimeout: SILENCE,
      disconnectTimeout: HANG_UP,
      retryStrategy: (times) => Math.min(times * 50, AGAIN),
    })
    const watch = (one: Redis): Redis => {
      clients.push(one)
      return one.on('error', (error) => isOver || onError(error))
    }
    const duplicate = client.duplicate.bind(client)
    client.duplicate = (override) => watch(duplicate(override))
    return watch(client)
  }

  async function begin(): Promise<{ worker: Worker<Envelope>; attempts: Attempts } | undefined> {
    while (!stop.signal.aborted) {
      try {
        const { DelayedError, UnrecoverableError, Worker } = await loadBullmq()
        const saysInfo = await run(async (opened) => opened.saysInfo)
        const connection = await connect()
        if (stop.signal.aborted) return undefined
        const attempts = createAttempts({
          receiver,
          config,
          Last: UnrecoverableError,
          Later: DelayedError,
          ...createLeases(run, onError),
        })
        const worker = new (toTolerant(Worker))(name, attempts.process, {
          connection,
          prefix,
          concurrency,
          skipVersionCheck: !saysInfo,
          lockDuration: lease,
          lockRenewTime: lease / 3,
          stalledInterval: lease / 2,
          maxStalledCount: STALLS,
          runRetryDelay: AGAIN,
          settings: { backoffStrategy: (attempt) => backoff(attempt, config) },
        })
        worker.on('error', onError)
        attempts.watch(worker)
        return { worker, attempts }
      } catch (error) {
        onError(error)
        await wait(AGAIN, stop.signal)
      }
    }
    return undefined
  }

  async function end(): Promise<void> {
    stop.abort()
    const { worker, attempts } = (await beginning) ?? {}
    const farewell = new AbortController()
    const late = async () => {
      do {
        await attempts?.ended()
        await wait(FAREWELL, farewell.signal)
      } while (attempts?.isAtWork())
    }
    await Promise.race([worker?.close().catch(onError), late()])
    farewell.abort()
    isOver = true // what a connection says now is that it has been ended
    for (const client of clients) client.disconnect()
  }

  const beginning = begin()
  return {
    close() {
      closing ??= end()
      return closing
    },
  }
}

/** Resolves after so many milliseconds, or when the signal is aborted. */
function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
    if (signal.aborted) {
      clearTimeout(timer)
      resolve()
    }
  })
}
