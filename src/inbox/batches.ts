/** Maximum size of a batch in bytes. It is limited because building a batch blocks the event loop. */
const MAX_BYTES = 1_048_576

/**
 * Takes the first items out of a queue: at most `items`, and at most `maxBytes` together unless the first is larger.
 */
export function takeBatch<Item extends { bytes: number }>(
  queue: Item[],
  items: number,
  maxBytes: number,
): Item[] {
  let bytes = 0
  const length = queue.slice(0, items).findIndex((item, index) => {
    bytes += item.bytes
    return index > 0 && bytes > maxBytes
  })
  return queue.splice(0, length === -1 ? items : length)
}

export interface BatchLimits {
  /** Maximum number of items in a batch. */
  items: number
  /** Maximum number of batches in flight. */
  inFlight: number
  /**
   * Maximum milliseconds that an item waits in the queue. After that it is rejected, because an HTTP client is waiting
   * for the response. Default: no maximum.
   */
  maxWait?: number
}

/** The results of a batch: one per item, in the order of the items. */
export type BatchResults<Result> = readonly (Result | Error)[]

interface QueuedItem<Item, Result> {
  item: Item
  bytes: number
  timer: ReturnType<typeof setTimeout> | undefined
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Sends items in batches. A batch contains the items added in one event loop tick. If the maximum number of batches is
 * in flight, items wait in the queue for a later batch. An item larger than the maximum size of a batch is sent alone.
 *
 * @param send sends a batch. If it rejects, every item of the batch is rejected; an `Error` in its results rejects
 *   only the item at that index
 */
export function createBatches<Item, Result>(
  limits: BatchLimits,
  send: (items: readonly Item[]) => Promise<BatchResults<Result>>,
): (item: Item, bytes: number) => Promise<Result> {
  const queued: QueuedItem<Item, Result>[] = []
  let inFlight = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || queued.length === 0 || inFlight >= limits.inFlight) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      while (queued.length > 0 && inFlight < limits.inFlight)
        void sendBatch(takeBatch(queued, limits.items, MAX_BYTES))
    })
  }

  async function sendBatch(batch: QueuedItem<Item, Result>[]): Promise<void> {
    inFlight++
    for (const { timer } of batch) clearTimeout(timer)
    try {
      const results = await send(batch.map(({ item }) => item))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index]
        if (result instanceof Error) reject(result)
        else resolve(result as Result)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      inFlight--
      schedule()
    }
  }

  return (item, bytes) =>
    new Promise((resolve, reject) => {
      const { maxWait } = limits
      const giveUp = () => {
        queued.splice(queued.indexOf(entry), 1)
        reject(new Error(`overloaded: the delivery waited ${maxWait} ms and was not sent`))
      }
      const timer = maxWait === undefined ? undefined : setTimeout(giveUp, maxWait)
      const entry = { item, bytes, timer, resolve, reject }
      queued.push(entry)
      schedule()
    })
}
