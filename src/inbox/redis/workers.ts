import type { Job, JobJson, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import { backoff } from '../backoff.ts'
import { MissingDriver } from '../driver.ts'
import type { DeliveryHandler, Workers } from '../durable-inbox.ts'
import type { InboxConfig } from '../inbox-options.ts'
import type { WorkConfig } from '../method-options.ts'
import type { Envelope } from '../serialize.ts'
import { type Connection, DISCONNECT_TIMEOUT, withoutCommand } from './connection.ts'
import { createExpiredLeases } from './expired-leases.ts'
import { createJobProcessor, type JobProcessor, MAX_JOBS } from './job-processor.ts'
import { createLocks } from './locks.ts'
import { loadBullmq, loadIoredis } from './packages.ts'
import type { OpenedQueue } from './queue.ts'
import { createSuccessMarks } from './success-marks.ts'

/** Maximum milliseconds between two attempts to reach Redis. */
const MAX_RETRY_DELAY = 1_000

/** Milliseconds after which a silent connection is closed. BullMQ waits at most 10 s for a job. */
const SOCKET_TIMEOUT = 20_000

/** Maximum milliseconds that BullMQ has, after all handlers have ended, to record the results and disconnect. */
const CLOSE_TIMEOUT = 3_000

/**
 * Maximum number of expired leases per job that is set in BullMQ. It is so high that only our limit of attempts
 * applies.
 */
const MAX_STALLED = 1_000_000

/** Dependencies of {@link startRedisWorkers}. */
export interface RedisWorkersOptions {
  url: string
  prefix: string
  name: string
  run: Connection<OpenedQueue>['run']
  receiver: DeliveryHandler
  work: WorkConfig
  config: InboxConfig
}

/**
 * Starts a BullMQ worker as soon as Redis is reachable. The worker runs the handlers, and can be closed while Redis is
 * unreachable.
 */
export function startRedisWorkers(options: RedisWorkersOptions): Workers {
  const { url, prefix, name, run, receiver, work, config } = options
  const { lease, notify } = config
  const onError = (error: unknown): void => notify('trouble', { error: withoutCommand(error) })
  const clients: Redis[] = []
  const stop = new AbortController()
  let closing: Promise<void> | undefined
  let isClosed = false

  /**
   * Opens a connection that waits for Redis without a time limit. BullMQ duplicates this client to open a second
   * connection.
   */
  async function connect(): Promise<Redis> {
    const { Redis } = await loadIoredis()
    const client = new Redis(url, {
      maxRetriesPerRequest: null,
      socketTimeout: SOCKET_TIMEOUT,
      disconnectTimeout: DISCONNECT_TIMEOUT,
      retryStrategy: (times) => Math.min(times * 50, MAX_RETRY_DELAY),
    })
    const watch = (connection: Redis): Redis => {
      clients.push(connection)
      return connection.on('error', (error) => isClosed || onError(error))
    }
    const duplicate = client.duplicate.bind(client)
    client.duplicate = (override) => watch(duplicate(override))
    return watch(client)
  }

  async function begin(): Promise<{ worker: Worker<Envelope>; processor: JobProcessor } | undefined> {
    while (!stop.signal.aborted) {
      try {
        const { DelayedError, UnrecoverableError, Worker } = await loadBullmq()
        const allowsInfo = await run(async (opened) => opened.allowsInfo)
        const connection = await connect()
        if (stop.signal.aborted) return undefined
        const processor = createJobProcessor({
          receiver,
          work,
          config,
          marks: createSuccessMarks(run, onError),
          locks: createLocks(run, lease, onError),
          UnrecoverableError,
          DelayedError,
          ...createExpiredLeases(run, onError),
        })
        const worker = new (toTolerantWorker(Worker))(name, processor.process, {
          connection,
          prefix,
          concurrency: work.wait === undefined ? work.concurrency : MAX_JOBS,
          skipVersionCheck: !allowsInfo,
          lockDuration: lease,
          lockRenewTime: lease / 3,
          stalledInterval: lease / 2,
          maxStalledCount: MAX_STALLED,
          runRetryDelay: MAX_RETRY_DELAY,
          settings: { backoffStrategy: (attempt) => backoff(attempt, config) },
        })
        worker.on('error', onError)
        processor.watch(worker)
        return { worker, processor }
      } catch (error) {
        onError(error)
        if (error instanceof MissingDriver) throw error
        await wait(MAX_RETRY_DELAY, stop.signal)
      }
    }
    return undefined
  }

  async function end(): Promise<void> {
    stop.abort()
    const { worker, processor } = (await beginning.catch(() => undefined)) ?? {}
    processor?.flush()
    const timeout = new AbortController()
    const timedOut = async () => {
      do {
        await processor?.idle()
        await wait(CLOSE_TIMEOUT, timeout.signal)
      } while (processor?.isBusy())
    }
    await Promise.race([worker?.close().catch(onError), timedOut()])
    timeout.abort()
    isClosed = true // later connection errors are caused by the disconnect below
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

/** Resolves after the given milliseconds, or when the signal is aborted. */
function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    function end(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })
}

/**
 * Extends BullMQ's worker to accept jobs whose data is not JSON. For such a job, the base class throws and leaves the
 * job active forever.
 */
function toTolerantWorker(Base: typeof Worker<Envelope>): typeof Worker<Envelope> {
  return class extends Base {
    protected override createJob(json: JobJson, jobId: string): Job<Envelope> {
      try {
        return super.createJob(json, jobId)
      } catch {
        return super.createJob({ ...json, data: 'null' }, jobId)
      }
    }
  }
}
