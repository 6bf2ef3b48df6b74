/** Most bytes of a batch: it is made in one go, and the event loop stands still meanwhile. */
const MOST_BYTES = 1_048_576

/** Bounds of batches. */
export interface BatchBounds {
  /** Most items of a batch. */
  items: number
  /** Most batches in flight. */
  inFlight: number
  /** Milliseconds that an item waits to be sent, at most: after that its sender has given up. */
  patience: number
}

/** What becomes of each item of a batch, in the order of the items. */
export type Outcomes<Result> = readonly (Result | Error)[]

interface Waiting<Item, Result> {
  item: Item
  bytes: number
  timer: ReturnType<typeof setTimeout>
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Sends items in batches. A batch takes the items of one event loop tick, and those that arrived while no more batches
 * could be in flight. An item that is larger than a batch is sent by itself. An item that waits too long is rejected and
 * not sent.
 *
 * @param send if it rejects, so does every item of the batch; an `Error` in its outcomes rejects one item only
 */
export function createBatches<Item, Result>(
  bounds: BatchBounds,
  send: (items: readonly Item[]) => Promise<Outcomes<Result>>,
): (item: Item, bytes: number) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = []
  let inFlight = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || inFlight >= bounds.inFlight) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      while (waiting.length > 0 && inFlight < bounds.inFlight) void sendSome(takeSome())
    })
  }

  function takeSome(): Waiting<Item, Result>[] {
    let count = 0
    for (let bytes = 0; count < Math.min(waiting.length, bounds.items); count++) {
      bytes += waiting[count]?.bytes ?? 0
      if (count > 0 && bytes > MOST_BYTES) break
    }
    const batch = waiting.splice(0, count)
    for (const { timer } of batch) clearTimeout(timer)
    return batch
  }

  async function sendSome(batch: Waiting<Item, Result>[]): Promise<void> {
    inFlight++
    try {
      const outcomes = await send(batch.map(({ item }) => item))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index]
        if (outcome instanceof Error) reject(outcome)
        else resolve(outcome as Result)
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
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(one), 1)
        reject(new Error(`overloaded: the delivery waited ${bounds.patience} ms and was not sent`))
      }, bounds.patience)
      const one = { item, bytes, timer, resolve, reject }
      waiting.push(one)
      schedule()
    })
}
